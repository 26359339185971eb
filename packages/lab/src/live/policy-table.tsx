/** Each policy: what it allows, and what it did. Rows stay where they are unless somebody sorts them; a click looks at one policy alone. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Numbers } from '../model/kind.ts';
import { kindOfPolicy } from '../model/kinds/index.ts';
import { type History, niceMaximum, pointsOf, rateOf, shownSeconds } from './history.ts';
import type { LivePolicy } from './live-answer.ts';
import { percent, rate } from './numbers.ts';
import { RateChart } from './rate-chart.tsx';

type Column = 'name' | 'allowed' | 'denied' | 'share';

const COLUMNS: readonly { readonly column: Column; readonly label: string }[] = [
  { column: 'allowed', label: 'Allowed a second' },
  { column: 'denied', label: 'Denied a second' },
  { column: 'share', label: 'Denied in a minute' },
];

export interface PolicyTableProps {
  readonly policies: readonly LivePolicy[];
  readonly history: History;
  readonly chosen: string | undefined;
  readonly onChoose: (policy: string | undefined) => void;
}

export function PolicyTable({ policies, history, chosen, onChoose }: PolicyTableProps): JSX.Element {
  const [sort, setSort] = useState<Column>('name');
  const rows = policies.map((policy) => rowOf(policy, history)).sort((one, other) => compare(one, other, sort));
  const maximum = niceMaximum(...rows.map(({ points }) => points));
  return (
    <div class="scrolls">
      <table class="table live-policies">
        <caption>Policies</caption>
        <thead>
          <tr>
            <SortHeader label="Policy" column="name" sort={sort} onSort={setSort} />
            <th scope="col">The last minutes, up to {rate(maximum)} a second</th>
            {COLUMNS.map(({ column, label }) => (
              <SortHeader key={column} label={label} column={column} sort={sort} onSort={setSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ policy, points, allowed, denied, share }) => (
            <tr key={policy.name} data-policy={policy.name} class={policy.name === chosen ? 'chosen' : undefined}>
              <th scope="row">
                <button
                  type="button"
                  class="link-button"
                  aria-pressed={policy.name === chosen}
                  onClick={() => onChoose(policy.name === chosen ? undefined : policy.name)}
                >
                  {policy.name}
                </button>
                {policy.shadow && (
                  <span class="tag" title="A dry run: it denies nobody. Its row says what it would deny.">
                    dry run: would deny
                  </span>
                )}
                <small class="fine">{limitsText(policy)}</small>
              </th>
              <td class="chart-cell">
                <RateChart
                  isSmall
                  points={points}
                  maximum={maximum}
                  seconds={shownSeconds(history)}
                  upper={policy.shadow ? 'would be denied' : 'denied'}
                  label={`${policy.name}: ${rate(allowed)} allowed and ${rate(denied)} ${policy.shadow ? 'would be denied' : 'denied'} a second`}
                />
              </td>
              <td class="number numeric">{rate(allowed)}</td>
              <td class="number numeric">{rate(denied)}</td>
              <td>
                <ShareBar share={share} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Line {
  readonly policy: LivePolicy;
  readonly points: ReturnType<typeof pointsOf>;
  readonly allowed: number;
  readonly denied: number;
  readonly share: number;
}

function rowOf(policy: LivePolicy, history: History): Line {
  const points = pointsOf(history, policy);
  return { policy, points, ...rateOf(points), share: policy.shadow ? policy.wouldDenyShare : policy.deniedShare };
}

/** By name, or the largest first, and then by name. */
function compare(one: Line, other: Line, sort: Column): number {
  const byName = one.policy.name < other.policy.name ? -1 : 1;
  return sort === 'name' ? byName : other[sort] - one[sort] || byName;
}

function SortHeader(props: {
  readonly label: string;
  readonly column: Column;
  readonly sort: Column;
  readonly onSort: (column: Column) => void;
}): JSX.Element {
  const { label, column, sort, onSort } = props;
  return (
    <th
      scope="col"
      class={column === 'name' ? undefined : 'number'}
      aria-sort={sort === column ? (column === 'name' ? 'ascending' : 'descending') : undefined}
    >
      <button type="button" class="sort" onClick={() => onSort(column)}>
        {label}
        <span aria-hidden="true">{sort === column ? (column === 'name' ? ' ↑' : ' ↓') : ''}</span>
      </button>
    </th>
  );
}

/** "10 at once, 1/s back", or why nobody knows. */
export function limitsText({ name, limits }: Pick<LivePolicy, 'name' | 'limits'>): string {
  if (limits !== null) return kindOfPolicy(limits as Numbers).summary(limits as Numbers);
  return name === 'envoy' ? 'limits of Envoy domains' : 'sent along with requests';
}

function ShareBar({ share }: { readonly share: number }): JSX.Element {
  return (
    <span class="share-bar">
      <span class="share-track" aria-hidden="true">
        <span class="share-fill" style={{ width: `${share * 100}%` }} />
      </span>
      <span class="numeric">{percent(share)}</span>
    </span>
  );
}
