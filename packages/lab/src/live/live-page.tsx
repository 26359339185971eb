/** The live view: what the server that gave out this page limits right now. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { savedToken, saveToken } from '../token/token.ts';
import { TokenForm } from '../token/token-form.tsx';
import { ratesOf } from './history.ts';
import { KeyList } from './key-list.tsx';
import type { LiveAnswer } from './live-answer.ts';
import { milliseconds, percent, rate } from './numbers.ts';
import { PolicyTable } from './policy-table.tsx';
import { RateChart } from './rate-chart.tsx';
import { TryIt } from './try-it.tsx';
import { type Live, useLive } from './use-live.ts';

export function LivePage(): JSX.Element {
  const [token, setToken] = useState(savedToken);
  const live = useLive(token);
  const tryToken = (given: string): void => {
    saveToken(given);
    setToken(given);
  };
  return (
    <div class="live">
      <header class="live-head">
        <div>
          <h1>Live</h1>
          <p class="lede">What this server limits right now.</p>
        </div>
        <Pulse state={live.state} />
      </header>
      {live.state === 'locked' ? (
        <TokenForm
          key={token}
          wasWrong={token !== ''}
          why="The live view names keys, so it is not for everybody."
          action="Look"
          onToken={tryToken}
        />
      ) : (
        live.now !== undefined && live.minute !== undefined && <Board {...live} now={live.now} minute={live.minute} />
      )}
    </div>
  );
}

const STATES: Readonly<Record<Live['state'], string>> = {
  waiting: 'Asking the server',
  locked: 'Locked',
  away: 'The server does not answer; trying again',
  here: 'Every second',
};

function Pulse({ state }: Pick<Live, 'state'>): JSX.Element {
  return (
    <p class={`pulse ${state}`} role="status">
      <span aria-hidden="true" />
      {STATES[state]}
    </p>
  );
}

type Seen = Omit<Live, 'now' | 'minute'> & { readonly now: LiveAnswer; readonly minute: LiveAnswer };

function Board({ now, minute, history }: Seen): JSX.Element {
  const isQuiet = minute.policies.every(({ allowed, denied }) => allowed + denied === 0);
  if (isQuiet) return <TryIt policies={minute.policies} />;
  const current = history.at(-1);
  const { allowed, denied } = current === undefined ? { allowed: 0, denied: 0 } : ratesOf(current);
  return (
    <>
      <dl class="tiles">
        <Tile name="Decisions a second" value={rate(allowed + denied)} note={`${rate(denied)} of them denied`} />
        <Tile name="Denied share" value={percent(shareOf(minute))} note="in the last minute" />
        <Tile
          name="Store, median"
          value={milliseconds(minute.store.p50Ms)}
          note={`p99 ${milliseconds(minute.store.p99Ms)}`}
        />
        <Tile
          name="Answered without the store"
          value={percent(minute.store.fallbackShare)}
          note={minute.store.fallbackShare === 0 ? 'it answers itself' : 'by the fallback'}
          isAlarming={minute.store.fallbackShare > 0}
        />
      </dl>
      <section class="panel live-chart" aria-label="Decisions a second">
        <div class="live-chart-head">
          <h2>Decisions a second</h2>
          <p class="live-legend">
            <span class="allowed">allowed</span>
            <span class="denied">denied</span>
          </p>
        </div>
        <RateChart
          history={history}
          label={`Decisions a second; now ${rate(allowed)} allowed and ${rate(denied)} denied`}
        />
      </section>
      <section class="panel" aria-label="By policy">
        <PolicyTable now={now} history={history} />
      </section>
      <div class="key-lists">
        <KeyList tone="denied" title="Most limited keys" keys={minute.top.denied} none="Nobody was denied." />
        <KeyList tone="allowed" title="Busiest keys" keys={minute.top.busiest} none="Nobody asked." />
      </div>
    </>
  );
}

function shareOf({ policies }: LiveAnswer): number {
  const denied = policies.reduce((sum, policy) => sum + policy.denied, 0);
  const all = policies.reduce((sum, policy) => sum + policy.allowed + policy.denied, 0);
  return all === 0 ? 0 : denied / all;
}

function Tile(props: {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly isAlarming?: boolean;
}): JSX.Element {
  return (
    <div class={props.isAlarming ? 'panel tile alarming' : 'panel tile'}>
      <dt>{props.name}</dt>
      <dd class="numeric">{props.value}</dd>
      <dd class="tile-note numeric">{props.note}</dd>
    </div>
  );
}
