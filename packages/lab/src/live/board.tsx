/** The numbers of a server: how much, of what, by whom, with one policy or key to look at alone. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type History, niceMaximum, pointsOf, rateOf, shownSeconds } from './history.ts';
import type { Subject } from './key-actions.ts';
import { KeyList } from './key-list.tsx';
import { KeyPanel } from './key-panel.tsx';
import type { LiveAnswer, LiveKey, LivePolicy } from './live-answer.ts';
import { milliseconds, percent, rate } from './numbers.ts';
import { limitsText, PolicyTable } from './policy-table.tsx';
import { RateChart } from './rate-chart.tsx';
import { TestTraffic } from './test-traffic.tsx';
import type { Live } from './use-live.ts';

export interface BoardProps {
  readonly live: Live;
  readonly answer: LiveAnswer;
  readonly token: string;
  readonly onToken: (token: string) => void;
}

export function Board({ live, answer, token, onToken }: BoardProps): JSX.Element {
  const [chosen, setChosen] = useState<string>();
  const [search, setSearch] = useState('');
  const [subject, setSubject] = useState<Subject>();
  const policy = answer.policies.find(({ name }) => name === chosen);
  const isQuiet = answer.requests.allowed + answer.requests.denied === 0;
  const isWanted = ({ policy: name, key }: LiveKey): boolean =>
    (chosen === undefined || name === chosen) && key.includes(search);
  return (
    <>
      <Tiles answer={answer} history={live.history} />
      <Silent workers={answer.workers} />
      <div class="live-filters">
        <Filters
          {...{ policies: answer.policies, chosen, search }}
          onChoose={setChosen}
          onSearch={setSearch}
          onLookUp={setSubject}
        />
        <TestTraffic policies={answer.policies} token={token} />
      </div>
      {isQuiet && <Quiet isAway={live.state === 'away'} />}
      <Chart history={live.history} policy={policy} />
      <section class="panel" aria-label="By policy">
        <PolicyTable policies={answer.policies} history={live.history} chosen={chosen} onChoose={setChosen} />
      </section>
      {subject !== undefined && (
        <KeyPanel
          key={`${subject.policy} ${subject.key}`}
          subject={subject}
          limits={answer.policies.find(({ name }) => name === subject.policy)?.limits ?? null}
          token={token}
          onToken={onToken}
          onClose={() => setSubject(undefined)}
        />
      )}
      <Keys
        top={answer.top}
        isWanted={isWanted}
        onChoose={({ policy: name, key }) => setSubject({ policy: name, key })}
      />
    </>
  );
}

function Filters(props: {
  readonly policies: readonly LivePolicy[];
  readonly chosen: string | undefined;
  readonly search: string;
  readonly onChoose: (policy: string | undefined) => void;
  readonly onSearch: (text: string) => void;
  readonly onLookUp: (subject: Subject) => void;
}): JSX.Element {
  const { policies, chosen, search } = props;
  return (
    <>
      <label class="inline-field">
        <span>Policy</span>
        <select
          class="select compact"
          value={chosen ?? ''}
          onChange={(event) => props.onChoose(event.currentTarget.value || undefined)}
        >
          <option value="">all</option>
          {policies.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label class="inline-field">
        <span>Key</span>
        <input
          class="input compact"
          type="search"
          placeholder="contains …"
          value={search}
          onInput={(event) => props.onSearch(event.currentTarget.value)}
        />
      </label>
      {search !== '' && chosen !== undefined && (
        <button type="button" class="button small" onClick={() => props.onLookUp({ policy: chosen, key: search })}>
          Look up “{search}”
        </button>
      )}
    </>
  );
}

function Keys(props: {
  readonly top: LiveAnswer['top'];
  readonly isWanted: (key: LiveKey) => boolean;
  readonly onChoose: (key: LiveKey) => void;
}): JSX.Element {
  const { top, isWanted, onChoose } = props;
  const lists = [
    { tone: 'denied', title: 'Most denied keys', keys: top.denied, none: 'Nobody was denied.' },
    { tone: 'allowed', title: 'Busiest keys', keys: top.busiest, none: 'No requests.' },
    { tone: 'denied', title: 'Would be denied (dry run)', keys: top.wouldDeny, none: 'Nobody.' },
  ] as const;
  return (
    <div class="key-lists">
      {lists
        .filter(({ keys }, index) => index < 2 || keys.length > 0)
        .map(({ keys, ...list }) => (
          <KeyList key={list.title} {...list} keys={keys.filter(isWanted)} onChoose={onChoose} />
        ))}
    </div>
  );
}

function Quiet({ isAway }: { readonly isAway: boolean }): JSX.Element {
  return (
    <p class="panel quiet-note" role="note">
      {isAway
        ? 'The server does not answer. It had no requests when it was last seen.'
        : 'No requests in the last minute. Send some test traffic, or ask the server from your own code, and watch it here.'}
    </p>
  );
}

/** Numbers of which some are missing are not to be taken for all. */
function Silent({ workers }: { readonly workers: LiveAnswer['workers'] | undefined }): JSX.Element | null {
  if (workers === undefined || workers.silent.length === 0) return null;
  return (
    <p class="problem" role="alert">
      {workers.silent.length} of {workers.count} workers of the server did not answer. Their numbers are missing here.
    </p>
  );
}

function Tiles({ answer, history }: { readonly answer: LiveAnswer; readonly history: History }): JSX.Element {
  const { allowed, denied } = rateOf(pointsOf(history));
  const { store, requests } = answer;
  const fallback = history.at(-1)?.fallbackShare ?? 0;
  return (
    <dl class="tiles">
      <Tile name="Requests a second" value={rate(allowed + denied)} note={`${rate(denied)} of them denied`} />
      <Tile name="Denied share" value={percent(requests.deniedShare)} note="of requests in the last minute" />
      {store.state === 'up' ? (
        <Tile name="Store, median" value={milliseconds(store.p50Ms)} note={`p99 ${milliseconds(store.p99Ms)}`} />
      ) : (
        <Tile name="Store" value="Down" note={`for ${Math.round(answer.at - store.since)} s`} isAlarming />
      )}
      <Tile
        name="Answered by the fallback"
        value={percent(fallback)}
        note={`in the last second; ${percent(store.fallbackShare)} of the minute`}
        isAlarming={fallback > 0}
      />
    </dl>
  );
}

function Chart({
  history,
  policy,
}: {
  readonly history: History;
  readonly policy: LivePolicy | undefined;
}): JSX.Element {
  const points = pointsOf(history, policy);
  const { allowed, denied } = rateOf(points);
  const upper = policy?.shadow === true ? 'would be denied' : 'denied';
  return (
    <section class="panel live-chart" aria-label="Requests a second">
      <div class="live-chart-head">
        <h2>
          {policy === undefined ? 'Requests a second' : `Requests a second under ${policy.name}`}
          {policy !== undefined && <small class="fine">{limitsText(policy)}</small>}
        </h2>
        <p class="live-legend">
          <span class="allowed">allowed</span>
          <span class="denied">{upper}</span>
        </p>
      </div>
      <RateChart
        points={points}
        maximum={niceMaximum(points)}
        seconds={shownSeconds(history)}
        upper={upper}
        label={`Requests a second; now ${rate(allowed)} allowed and ${rate(denied)} ${upper}`}
      />
    </section>
  );
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
