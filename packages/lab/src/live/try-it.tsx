/** Nothing to see yet: how to make something happen. */
import type { JSX } from 'preact';
import { CopyButton } from '../controls/copy-button.tsx';
import type { LiveAnswer } from './live-answer.ts';

export function TryIt({ policies }: Pick<LiveAnswer, 'policies'>): JSX.Element {
  const command = commandFor(policies[0]?.name);
  return (
    <section class="panel try-it" aria-label="Nothing to see yet">
      <h2>No decisions in the last minute</h2>
      <p>
        The server is up and limits whatever asks it. Send it twenty requests from a terminal, and watch them arrive
        here:
      </p>
      <div class="try-command">
        <pre class="code">
          <code>{command}</code>
        </pre>
        <CopyButton text={command} label="Copy" />
      </div>
    </section>
  );
}

function commandFor(name: string | undefined): string {
  const policy = name ?? { algorithm: 'token-bucket', capacity: 10, refillRate: 1 };
  const body = JSON.stringify({ policy, key: 'ann' });
  return `for i in $(seq 20); do\n  curl -s ${location.origin}/v1/attempt -d '${body}'\ndone`;
}
