/** One key under one policy: what is left, and what an operator can do about it. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { TokenForm } from '../token/token-form.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { IconButton } from '../ui/icons.tsx';
import { count } from '../words/words.ts';
import { askServer, exemptionYaml, type Looked, type Subject, type Verb } from './key-actions.ts';
import { lasting } from './numbers.ts';

const BLOCKS = ['1m', '10m', '1h', '1d'] as const;
const BLOCK_TITLES: Readonly<Record<string, string>> = {
  '1m': '1 minute',
  '10m': '10 minutes',
  '1h': '1 hour',
  '1d': '1 day',
};

export interface KeyPanelProps {
  readonly subject: Subject;
  /** The numbers of the policy; null when it is not in the config. */
  readonly limits: object | null;
  readonly token: string;
  readonly onToken: (token: string) => void;
  readonly onClose: () => void;
}

export function KeyPanel({ subject, limits, token, onToken, onClose }: KeyPanelProps): JSX.Element {
  const { looked, said, isLocked, act } = useKey(subject, limits !== null, token);
  return (
    <section class="panel key-panel" aria-label={`Key ${subject.key}`} data-key={subject.key}>
      <header class="sheet-head">
        <div>
          <p class="eyebrow">Key under {subject.policy}</p>
          <h2>
            <code class="key-name">{subject.key}</code>
          </h2>
        </div>
        <IconButton icon="close" label="Close the key" onClick={onClose} />
      </header>
      {limits === null ? (
        <p class="none">This policy is not in the config, so the server cannot look it up by name.</p>
      ) : (
        <>
          <p class="key-state numeric" data-left>
            {looked === undefined ? 'Asking …' : stateText(looked)}
          </p>
          <Actions act={act} />
          <p class="hint" role="status">
            {said}
          </p>
          <Exemption subject={subject} limits={limits} />
        </>
      )}
      {isLocked && (
        <TokenForm
          key={token}
          wasWrong={token !== ''}
          why="Changing what others have spent needs the token of the server."
          action="Unlock"
          onToken={onToken}
        />
      )}
    </section>
  );
}

type Act = (verb: Verb, done: string, more?: object) => Promise<void>;

const LOOK_MS = 1_000;

/** What is left, looked at once a second, and what was done about it. */
function useKey(subject: Subject, canLook: boolean, token: string) {
  const [looked, setLooked] = useState<Looked>();
  const [said, say] = useState('');
  const [isLocked, setLocked] = useState(false);
  const look = async (): Promise<void> => {
    const result = await askServer('peek', subject, token);
    if (result !== 'locked' && 'answer' in result) setLooked(result.answer);
  };
  const act: Act = async (verb, done, more = {}) => {
    const result = await askServer(verb, subject, token, more);
    setLocked(result === 'locked');
    if (result === 'locked') return;
    say('problem' in result ? result.problem : done);
    await look();
  };
  useEffect(() => {
    if (!canLook) return;
    void look();
    const again = setInterval(() => void look(), LOOK_MS);
    return () => clearInterval(again);
  }, [subject.key, subject.policy, token]);
  return { looked, said, isLocked, act };
}

function Actions({ act }: { readonly act: Act }): JSX.Element {
  const [duration, setDuration] = useState<string>('10m');
  return (
    <div class="key-buttons">
      <button
        type="button"
        class="button small"
        onClick={() => void act('reset', 'Reset: the key has its whole limit again.')}
      >
        Reset
      </button>
      <span class="joined">
        <button
          type="button"
          class="button small"
          onClick={() => void act('block', `Blocked for ${BLOCK_TITLES[duration]}.`, { duration })}
        >
          Block
        </button>
        <select
          class="select compact"
          aria-label="How long to block"
          value={duration}
          onChange={(event) => setDuration(event.currentTarget.value)}
        >
          {BLOCKS.map((value) => (
            <option key={value} value={value}>
              for {BLOCK_TITLES[value]}
            </option>
          ))}
        </select>
      </span>
      <button type="button" class="button small" onClick={() => void act('unblock', 'The block has ended.')}>
        Unblock
      </button>
      <button
        type="button"
        class="button small"
        onClick={() =>
          void act('exempt', 'Exempt for 1 hour, on every server.', { for: '1h', reason: 'from the live page' })
        }
      >
        Exempt for 1 hour
      </button>
    </div>
  );
}

function stateText({ limit, remaining, retryAfter, resetAfter }: Looked): string {
  if (limit === null || remaining === null) return 'Exempt: not limited now';
  const left = `${count(remaining)} of ${count(limit)} left`;
  if (retryAfter !== null) return `${left}, next in ${lasting(retryAfter)}`;
  return resetAfter === 0 ? `${left}, nothing spent` : `${left}, resets in ${lasting(resetAfter)}`;
}

/** One that lasts belongs into the config, where it is on record. */
function Exemption({ subject, limits }: { readonly subject: Subject; readonly limits: object }): JSX.Element {
  const yaml = exemptionYaml(subject, limits, new Date());
  return (
    <details class="how">
      <summary>Exempt this key for longer</summary>
      <p>
        Add this to the config. The server reads it again by itself, and every other server with the same file does too.
      </p>
      <figure class="code-file">
        <figcaption>
          <span>policies.yaml</span>
          <CopyButton text={yaml} label="Copy" />
        </figcaption>
        <pre class="code">
          <code>{yaml}</code>
        </pre>
      </figure>
    </details>
  );
}
