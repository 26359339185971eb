/** Requests to try the limits with, sent by this page: what a loop of curl would do. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { authorization } from '../token/token.ts';
import type { LivePolicy } from './live-answer.ts';

/** How many, and how far apart. */
const [COUNT, EVERY_MS] = [30, 60];
const CLIENTS = ['test:ann', 'test:bob', 'test:carl'];

export function TestTraffic(props: { readonly policies: readonly LivePolicy[]; readonly token: string }): JSX.Element {
  const names = props.policies.filter(({ limits }) => limits !== null).map(({ name }) => name);
  const [policy, setPolicy] = useState<string>();
  const [left, setLeft] = useState(0);
  const [problem, setProblem] = useState('');
  const chosen = policy ?? names[0];
  const stop = useRef<() => void>(() => {});
  useEffect(() => () => stop.current(), []);
  const start = (): void => {
    setProblem('');
    stop.current = repeated(COUNT, EVERY_MS, async (index) => {
      setLeft(COUNT - index - 1);
      const failed = await attempt(chosen, CLIENTS[index % 7 === 0 ? 2 : index % 2]!, props.token);
      if (failed !== undefined) setProblem(failed);
    });
  };
  return (
    <div class="test-traffic">
      {names.length > 0 && (
        <label class="inline-field">
          <span>Policy</span>
          <select class="select compact" value={chosen} onChange={(event) => setPolicy(event.currentTarget.value)}>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <button type="button" class="button" disabled={left > 0} onClick={start}>
        {left > 0 ? `Sending, ${left} left` : 'Send test traffic'}
      </button>
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

/** One after the other, without waiting for answers. */
function repeated(times: number, everyMs: number, act: (index: number) => Promise<void>): () => void {
  let index = 0;
  const timer = setInterval(() => {
    void act(index);
    index += 1;
    if (index >= times) clearInterval(timer);
  }, everyMs);
  return () => clearInterval(timer);
}

/** A server without policies is asked with one that comes along. */
async function attempt(policy: string | undefined, key: string, token: string): Promise<string | undefined> {
  const inline = { algorithm: 'token-bucket', name: 'test', capacity: 10, refillRate: 1 };
  try {
    const response = await fetch('v1/attempt', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization(token) },
      body: JSON.stringify({ policy: policy ?? inline, key }),
    });
    if (response.ok) return undefined;
    return response.status === 401
      ? 'The server asks for its token.'
      : `The server answered with status ${response.status}.`;
  } catch {
    return 'The server does not answer.';
  }
}
