/** The shape of an outcome, as in the lanes: a disc, a cross, a diamond. */
import type { JSX } from 'preact';
import type { Outcome } from '../trace/answers.ts';

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
