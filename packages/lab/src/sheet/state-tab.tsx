/** What lies in the server's store for a row, as it is there, and what the last attempt cost it. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Engine } from '../engine/engine.ts';
import { bytesText, measuredOf } from '../model/choose/measured.ts';
import type { Row } from '../model/row.ts';
import { READABLE, setText, useDraw, useLab } from '../view/frames.ts';
import { count } from '../words/words.ts';

const LABELS = ['Meaning', 'Key', 'Type', 'Value', 'Expires in', 'Memory', 'Commands'] as const;

export function StateTab({ row }: { readonly row: Row }): JSX.Element {
  const { lab } = useLab();
  const list = useRef<HTMLDListElement>(null);
  useDraw(() => {
    const texts = rawTexts(lab.engine, row);
    list.current!.querySelectorAll('dd').forEach((value, index) => {
      setText(value, texts[index]!);
    });
  }, READABLE);
  return (
    <>
      <p class="hint">
        What {lab.engine.kind === 'redis' ? 'Redis' : 'the server'} holds for this row after the last attempt.
      </p>
      <dl class="raw" ref={list} aria-label="State in the store" data-raw={row.id}>
        {LABELS.map((label) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class={label === 'Meaning' ? 'raw-value meaning' : 'raw-value mono'} />
          </div>
        ))}
      </dl>
    </>
  );
}

function rawTexts({ raw, commands, kind }: Engine, row: Row): readonly string[] {
  const state = raw.get(row.id);
  const cost = kind === 'memory' ? 'none: the memory of the server' : commandsText(commands.get(row.id) ?? {});
  if (state === null || state === undefined) return ['no state: nothing is spent', '–', '–', '–', '–', '–', cost];
  return [
    state.reading === '' ? 'cannot be read' : state.reading,
    state.key,
    state.type,
    state.value,
    state.ttlMs === null ? '–' : `${(state.ttlMs / 1000).toFixed(2)} s`,
    state.memoryBytes === null ? measuredText(row) : `${count(state.memoryBytes)} bytes`,
    cost,
  ];
}

/** As they come: the call of the script, and what the script then does. Redis tells in no order. */
const ORDER = ['eval', 'evalsha', 'time', 'get', 'getrange', 'strlen'];

function commandsText(commands: Readonly<Record<string, number>>): string {
  const place = (name: string): number => (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);
  const calls = Object.entries(commands).sort(([one], [other]) => place(one) - place(other));
  const total = calls.reduce((sum, [, times]) => sum + times, 0);
  if (total === 0) return '–';
  return `${total}: ${calls.map(([name, times]) => (times > 1 ? `${name} ${times}×` : name)).join(', ')}`;
}

/** A process does not say what one state takes, so this is what many took. */
function measuredText({ kind }: Row): string {
  const measured = measuredOf(kind.id);
  return measured === undefined ? '–' : `${bytesText(measured.memoryBytes)} for each client, measured`;
}
