/** Each policy: its course, what it allows and denies a second, and the share it denies. */
import type { JSX } from 'preact';
import type { History } from './history.ts';
import type { LiveAnswer, LivePolicy } from './live-answer.ts';
import { percent, rate } from './numbers.ts';
import { RateChart } from './rate-chart.tsx';

export function PolicyTable(props: { readonly now: LiveAnswer; readonly history: History }): JSX.Element {
  const policies = [...props.now.policies].sort(
    (one, other) => total(other) - total(one) || (one.name < other.name ? -1 : 1),
  );
  return (
    <div class="scrolls">
      <table class="table live-policies">
        <caption>Decisions a second by policy</caption>
        <thead>
          <tr>
            <th scope="col">Policy</th>
            <th scope="col">Course</th>
            <th scope="col" class="number">
              Allowed
            </th>
            <th scope="col" class="number">
              Denied
            </th>
            <th scope="col">Denied share</th>
          </tr>
        </thead>
        <tbody>
          {policies.map((policy) => (
            <tr key={policy.name} data-policy={policy.name}>
              <th scope="row">
                {policy.name}
                {policy.shadow && (
                  <span class="tag" title="Counts and reports, and never denies">
                    shadow
                  </span>
                )}
              </th>
              <td class="chart-cell">
                <RateChart small history={props.history} policy={policy.name} label={rateText(policy)} />
              </td>
              <td class="number numeric">{rate(policy.allowedPerSecond)}</td>
              <td class="number numeric">{rate(policy.deniedPerSecond)}</td>
              <td>
                <ShareBar share={policy.deniedShare} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ShareBar({ share }: { readonly share: number }): JSX.Element {
  return (
    <span class="share">
      <span class="share-track" aria-hidden="true">
        <span class="share-fill" style={{ width: `${share * 100}%` }} />
      </span>
      <span class="numeric">{percent(share)}</span>
    </span>
  );
}

function total({ allowed, denied }: LivePolicy): number {
  return allowed + denied;
}

function rateText({ name, allowedPerSecond, deniedPerSecond }: LivePolicy): string {
  return `${name}: ${rate(allowedPerSecond)} allowed and ${rate(deniedPerSecond)} denied a second`;
}
