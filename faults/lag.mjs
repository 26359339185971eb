/** What a process is late by: its own event loop, on a machine with other work. Nobody can be answered meanwhile. */

const TICK_MS = 2;
/** A process that is late by less than this is not late: timers are only so exact. */
const NOTABLE_LAG_MS = 3;

/** Comparable between the processes of one machine. */
export const now = () => performance.timeOrigin + performance.now();

/** The list of `[when, how late]` grows as it happens. */
export function watchLag() {
  const lags = [];
  let expected = now() + TICK_MS;
  setInterval(() => {
    const time = now();
    if (time - expected > NOTABLE_LAG_MS) lags.push([time, time - expected]);
    expected = time + TICK_MS;
  }, TICK_MS).unref();
  return lags;
}

/** How much of this time somebody was late; two who were late at once count once. */
export function lagDuring(lags, { startedAt, tookMs = 0 }) {
  const endedAt = startedAt + tookMs;
  const spans = lags
    .map(([at, late]) => [Math.max(at - late, startedAt), Math.min(at, endedAt)])
    .filter(([from, to]) => to > from)
    .sort(([one], [other]) => one - other);
  let sum = 0;
  let until = startedAt;
  for (const [from, to] of spans) {
    sum += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return sum;
}
