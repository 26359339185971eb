/** How many requests of the client that is shown were allowed, delayed and denied up to the moment that is shown, each with its mark. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { READABLE, useDraw, useLab } from '../app/frames.ts';
import type { Outcome } from '../engine/trace.ts';
import type { CardId } from './catalog.ts';

export function CountMarks({ id }: { readonly id: CardId }): JSX.Element {
  const { lab } = useLab();
  const list = useRef<HTMLDListElement>(null);

  useDraw(() => {
    const { trace, client } = lab;
    const { allowed, delayed, denied } = trace.countsUpTo(id, client, trace.lastAt(lab.time));
    const values = list.current!.querySelectorAll('dd');
    for (const [index, count] of [allowed - delayed, delayed, denied].entries()) {
      const text = String(count);
      if (values[index]!.textContent !== text) values[index]!.textContent = text;
    }
  }, READABLE);

  const shaping = id === 'leaky-bucket-shaping';
  return (
    <dl class="counts" ref={list} aria-label="Requests so far">
      <Count outcome="allowed" label={shaping ? 'at once' : 'allowed'} />
      <Count outcome="delayed" label="delayed" hidden={!shaping} />
      <Count outcome="denied" label="denied" />
    </dl>
  );
}

function Count(props: { readonly outcome: Outcome; readonly label: string; readonly hidden?: boolean }): JSX.Element {
  return (
    <div class={`count ${props.outcome}`} hidden={props.hidden} title={props.label}>
      <dt>
        <Mark outcome={props.outcome} />
        <span class="visually-hidden">{props.label}</span>
      </dt>
      <dd class="numeric" data-count={props.outcome}>
        0
      </dd>
    </div>
  );
}

/** The shape of an outcome, as in the time line. */
export function Mark({ outcome }: { readonly outcome: Outcome }): JSX.Element {
  return (
    <svg class={`mark ${outcome}`} viewBox="0 0 12 12" aria-hidden="true">
      {outcome === 'allowed' && <circle cx="6" cy="6" r="4" fill="currentColor" />}
      {outcome === 'denied' && (
        <path d="m2.5 2.5 7 7m0-7-7 7" stroke="currentColor" stroke-width="2" stroke-linecap="round" />
      )}
      {outcome === 'delayed' && <path d="M6 1 11 6 6 11 1 6Z" fill="currentColor" />}
    </svg>
  );
}
