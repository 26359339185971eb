/** What lies in the server's store for a card, as it is there, and what the last attempt cost it. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { READABLE, useDraw, useLab } from '../app/frames.ts';
import { bytesText, MEASURED_ON, measuredOf } from '../chooser/measured.ts';
import type { Engine } from '../engine/engine.ts';
import type { CardId } from './catalog.ts';

export function RawStateView({ id }: { readonly id: CardId }): JSX.Element {
  const { lab } = useLab();
  const list = useRef<HTMLDListElement>(null);

  useDraw(() => {
    const texts = rawTexts(lab.engine, id);
    list.current!.querySelectorAll('dd').forEach((value, index) => {
      const text = texts[index]!;
      if (value.textContent !== text) value.textContent = text;
    });
  }, READABLE);

  return (
    <dl class="raw mono" ref={list} aria-label="State in the store" data-raw={id}>
      {['key', 'type', 'value', 'meaning', 'TTL', 'memory', 'commands'].map((label) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd />
        </div>
      ))}
    </dl>
  );
}

function rawTexts({ raw, commands, kind }: Engine, id: CardId): readonly string[] {
  const state = raw.get(id);
  const calls = Object.entries(commands.get(id) ?? {}).sort(([one], [other]) => placeOf(one) - placeOf(other));
  const total = calls.reduce((sum, [, count]) => sum + count, 0);
  const perAttempt =
    kind === 'memory'
      ? 'none: the memory of the server'
      : total === 0
        ? '-'
        : `${total} (${calls.map(([name, count]) => (count > 1 ? `${name} ${count}x` : name)).join(', ')})`;
  if (state === null || state === undefined) return ['-', '-', '-', 'no state: as good as new', '-', '-', perAttempt];
  return [
    state.key,
    state.type,
    state.value,
    state.reading,
    state.ttlMs === null ? '-' : `${(state.ttlMs / 1000).toFixed(2)} s`,
    state.memoryBytes === null ? measuredBytes(id) : `${state.memoryBytes} bytes`,
    perAttempt,
  ];
}

/** As they come: the call of the script, and what the script then does. Redis tells in no order. */
const ORDER = ['eval', 'evalsha', 'time', 'get', 'getrange', 'strlen'];

function placeOf(command: string): number {
  const place = ORDER.indexOf(command);
  return place < 0 ? ORDER.length : place;
}

/** A process does not say what one state takes, so this is what many took. Only a log grows. */
function measuredBytes(id: CardId): string {
  const { memoryBytes } = measuredOf(id);
  const when = id === 'sliding-window-log' ? `for ${MEASURED_ON.limit} admissions` : 'for each client';
  return `${bytesText(memoryBytes)} ${when}, measured`;
}
