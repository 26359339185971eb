/** A row as code that runs when it is pasted. It follows the row's numbers, the cost, and where the row is decided. */
import type { JSX } from 'preact';
import { CodePanel } from '../code/code-panel.tsx';
import type { Row } from '../model/row.ts';
import { useLab } from '../view/frames.ts';

export function CodeTab({ row }: { readonly row: Row }): JSX.Element {
  const { lab } = useLab();
  return (
    <CodePanel
      key={lab.engine.kind}
      coded={row}
      cost={lab.setup.cost}
      store={lab.engine.kind === 'redis' ? 'node-redis' : undefined}
    />
  );
}
