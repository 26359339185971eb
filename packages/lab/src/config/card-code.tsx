/** A card as code, to be copied. */
import type { JSX } from 'preact';
import { useLab } from '../app/frames.ts';
import type { CardId } from '../cards/catalog.ts';
import { CodeBlock } from '../controls/code-block.tsx';
import { codeOf, LANGUAGES } from './code.ts';

export function CardCode({ id }: { readonly id: CardId }): JSX.Element {
  const { lab } = useLab();
  return (
    <CodeBlock
      languages={LANGUAGES}
      codeIn={(language) => codeOf(language, id, lab.policies[id], lab.setup.cost, location.origin)}
      frame="drawer"
      bar="drawer-bar"
    />
  );
}
