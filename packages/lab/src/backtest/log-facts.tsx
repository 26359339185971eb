/** What was read, and what could not be. */
import type { JSX } from 'preact';
import type { ReadLog } from './messages.ts';
import { count, moment } from './words.ts';

export function LogFacts({ log }: { readonly log: ReadLog }): JSX.Element {
  const { name, format, traffic, lines, badLines, isWholeSeconds, isCut } = log;
  return (
    <section aria-label="The log">
      <p data-facts>
        <b>{name}</b> ({format}): {count(traffic.requests)} requests from {count(traffic.clients)} clients
        {traffic.from !== undefined && `, ${moment(traffic.from)} to ${moment(traffic.to!)} UTC`}. Busiest second{' '}
        {count(traffic.peakSecond.units)}, busiest minute {count(traffic.peakMinute.units)}.
      </p>
      {isCut && <p>The page holds ten million requests; the rest of the log was not read. The command reads all.</p>}
      {isWholeSeconds && (
        <p class="quiet">Its times are whole seconds: requests of one second are decided at its beginning.</p>
      )}
      {lines.late > 0 && <p class="quiet">{count(lines.late)} lines came more than 5 minutes late.</p>}
      {lines.bad > 0 && (
        <details>
          <summary>{count(lines.bad)} lines could not be read</summary>
          <ul>
            {badLines.map(({ line, reason, text }) => (
              <li key={line}>
                line {line} {reason}: <code>{text.slice(0, 100)}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
