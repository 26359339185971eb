/** A row opened: its picture large, its requests one by one, its numbers to change, its state in the store, and its code. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Row } from '../model/row.ts';
import { IconButton } from '../ui/icons.tsx';
import { later } from '../ui/later.tsx';
import { Segments } from '../ui/segments.tsx';
import { useLab } from '../view/frames.ts';
import { SettingsTab } from './settings-tab.tsx';
import { StateTab } from './state-tab.tsx';
import { WatchTab } from './watch-tab.tsx';

const CodeTab = later(async () => (await import('./code-tab.tsx')).CodeTab);

export type Tab = 'watch' | 'settings' | 'code' | 'state';

export interface RowSheetProps {
  readonly row: Row;
  readonly tab: Tab;
  readonly onTab: (tab: Tab) => void;
  readonly onClose: () => void;
}

export function RowSheet({ row, tab, onTab, onClose }: RowSheetProps): JSX.Element {
  const { lab } = useLab();
  const heading = useRef<HTMLHeadingElement>(null);
  const [isFirst, setFirst] = useState(true);
  // Whoever opens it by keyboard goes on reading here; not on the first rendering, when an address opened it.
  useEffect(() => {
    if (!isFirst) heading.current!.focus();
    setFirst(false);
  }, [row.id]);
  const hasPolicy = lab.story?.rows === undefined;
  const options: readonly { value: Tab; label: string }[] = [
    { value: 'watch', label: 'Watch' },
    ...(hasPolicy
      ? ([
          { value: 'settings', label: 'Numbers' },
          { value: 'code', label: 'Code' },
        ] as const)
      : []),
    ...(lab.engine.isVirtual ? [] : ([{ value: 'state', label: 'In the store' }] as const)),
  ];
  const shown = options.some(({ value }) => value === tab) ? tab : 'watch';
  return (
    <aside class="sheet panel" aria-labelledby="sheet-title" data-sheet={row.id}>
      <header class="sheet-head">
        <div>
          <h2 id="sheet-title" tabIndex={-1} ref={heading}>
            {row.title}
          </h2>
          <p class="sheet-summary">
            {row.summary}
            {row.deviates && (
              <button type="button" class="link-button" onClick={() => void lab.configure(row.id, undefined)}>
                Use the same limit as all
              </button>
            )}
          </p>
        </div>
        <IconButton icon="close" label="Close the row (Esc)" onClick={onClose} />
      </header>
      <Segments label="What to show of the row" options={options} value={shown} onChange={onTab} />
      {shown === 'watch' && <WatchTab row={row} />}
      {shown === 'settings' && <SettingsTab key={row.id} row={row} />}
      {shown === 'code' && <CodeTab row={row} />}
      {shown === 'state' && <StateTab row={row} />}
    </aside>
  );
}
