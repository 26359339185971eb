/** Whose decisions these were, most first. */
import type { JSX } from 'preact';
import type { LiveKey } from './live-answer.ts';

export function KeyList(props: {
  readonly title: string;
  readonly keys: readonly LiveKey[];
  readonly none: string;
  readonly tone: 'denied' | 'allowed';
}): JSX.Element {
  const most = props.keys[0]?.count ?? 1;
  return (
    <section class={`panel key-list ${props.tone}`} aria-label={props.title}>
      <h2>{props.title}</h2>
      <p class="eyebrow">in the last minute</p>
      {props.keys.length === 0 && <p class="none">{props.none}</p>}
      <ol>
        {props.keys.map(({ policy, key, count, error }) => (
          <li key={`${policy} ${key}`}>
            <span class="key-bar" style={{ width: `${(count / most) * 100}%` }} aria-hidden="true" />
            <code title={key}>{key}</code>
            <span class="key-policy">{policy}</span>
            <span class="numeric" title={error === 0 ? undefined : `at most ${error} too many`}>
              {count.toLocaleString('en')}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
