/** What a policy would have done, in numbers, and to whom. */
import type { PolicyReport } from '@sluice/server/backtest/engine';
import type { ComponentChildren, JSX } from 'preact';
import type { ReadLog } from './messages.ts';
import { count, share } from './words.ts';

export function Verdict(props: {
  readonly report: PolicyReport;
  readonly log: ReadLog;
  /** Between the numbers and the lists. */
  readonly children: ComponentChildren;
}): JSX.Element {
  const { report, log, children } = props;
  const { denied, delayed, deniedShare, clientsDenied, clientsDeniedShare, peakSecond, mostDenied, routes } = report;
  return (
    <>
      <dl class="backtest-numbers" data-denied={denied} data-clients-denied={clientsDenied}>
        <Fact label="requests denied" value={count(denied)} note={share(deniedShare)} />
        <Fact
          label="clients ever denied"
          value={count(clientsDenied)}
          note={`${share(clientsDeniedShare)} of ${count(log.traffic.clients)}`}
        />
        {delayed > 0 && (
          <Fact label="requests delayed" value={count(delayed)} note={`at most ${report.longestDelay.toFixed(1)} s`} />
        )}
        <Fact
          label="busiest second"
          value={count(peakSecond.units)}
          note={`${count(log.traffic.peakSecond.units)} came`}
        />
      </dl>
      {children}
      {denied > 0 && (
        <div class="backtest-lists">
          <Denied
            title="Most denied clients"
            rows={mostDenied.map(({ key, ...counts }) => ({ name: key, ...counts }))}
          />
          <Denied title="Most denied paths" rows={routes.map(({ route, ...counts }) => ({ name: route, ...counts }))} />
        </div>
      )}
    </>
  );
}

function Fact(props: { readonly label: string; readonly value: string; readonly note: string }): JSX.Element {
  return (
    <div>
      <dt>{props.label}</dt>
      <dd class="numeric">
        {props.value} <small>{props.note}</small>
      </dd>
    </div>
  );
}

function Denied(props: {
  readonly title: string;
  readonly rows: readonly { readonly name: string; readonly denied: number; readonly requests: number }[];
}): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          <th>{props.title}</th>
          <th class="numeric">denied</th>
          <th class="numeric">of</th>
        </tr>
      </thead>
      <tbody>
        {props.rows.map(({ name, denied, requests }) => (
          <tr key={name}>
            <td>{name}</td>
            <td class="numeric">{count(denied)}</td>
            <td class="numeric">{count(requests)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
