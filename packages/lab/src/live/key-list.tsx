/** Whose requests these were, most first; a click looks at one of them. */
import type { JSX } from 'preact';
import { count } from '../words/words.ts';
import type { LiveKey } from './live-answer.ts';

/** More cannot be taken in at a glance. */
const SHOWN = 8;

export interface KeyListProps {
  readonly title: string;
  readonly keys: readonly LiveKey[];
  readonly none: string;
  readonly tone: 'denied' | 'allowed';
  readonly onChoose: (key: LiveKey) => void;
}

export function KeyList({ title, keys, none, tone, onChoose }: KeyListProps): JSX.Element {
  const most = keys[0]?.count ?? 1;
  return (
    <section class={`panel key-list ${tone}`} aria-label={title}>
      <h2>{title}</h2>
      <p class="eyebrow">in the last minute</p>
      {keys.length === 0 && <p class="none">{none}</p>}
      <ol>
        {keys.slice(0, SHOWN).map((found) => (
          <li key={`${found.policy} ${found.key}`}>
            <span class="key-bar" style={{ width: `${(found.count / most) * 100}%` }} aria-hidden="true" />
            <button type="button" class="key-button" title={found.key} onClick={() => onChoose(found)}>
              <code>{found.key}</code>
            </button>
            <span class="key-policy">{found.policy}</span>
            <span class="numeric" title={found.error === 0 ? undefined : `at most ${count(found.error)} too many`}>
              {count(found.count)}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
