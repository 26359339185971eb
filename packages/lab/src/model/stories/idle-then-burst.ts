/** A quiet time, a burst that is larger than the limit, and steady requests after it. */
import { BUCKETS, between, choicesOf, inOrder, ONE_CLIENT, type Plan, SHAPING, series, WINDOWS } from './story.ts';

const BUCKET = 'token-bucket';

export const idleThenBurst: Plan = {
  id: 'idle-then-burst',
  title: 'Idle, then a burst',
  description:
    'After a pause 25 requests come at the same moment. Who takes the burst, and who pays for it afterwards?',
  make(limit) {
    const { units, window } = limit;
    const burst = Math.round(2.5 * units);
    const script = inOrder(
      series(0.025 * window, 2, 0.125 * window),
      series(1.2 * window, burst, 0),
      series(1.275 * window, 2 * units, 0.05 * window),
    );
    return {
      id: 'idle-then-burst',
      title: 'Idle, then a burst',
      about: `After a quiet time ${burst} requests come at the same moment, as when a page loads or a job starts. Then ${2 * units} more come, evenly.`,
      limit,
      clients: ONE_CLIENT,
      start: 0,
      end: 2.3 * window,
      script,
      beats: [
        { at: 0, pace: 2.5 },
        {
          at: 1.17 * window,
          row: BUCKET,
          ask: {
            text: `${burst} requests are about to come at the same moment. How many does a token bucket that holds ${limit.burst} allow?`,
            choices: choicesOf(1, Math.min(limit.burst, burst), burst),
            answer: (facts) => String(facts.allowed(BUCKET) - 2),
          },
          pace: 0.25,
        },
        {
          at: 1.21 * window,
          row: BUCKET,
          holds: true,
          tells: true,
          caption: (facts) =>
            `It gives all it has: ${facts.allowed(BUCKET) - 2}. So far the rows differ by one at most, and all say how long to wait.`,
        },
        {
          at: 1.24 * window,
          pace: 0.8,
          caption: () =>
            'Now requests keep coming, twice as fast as the limit. Watch who allows the next one, and when.',
        },
        {
          at: 2.03 * window,
          pace: 0.5,
          row: 'fixed-window',
          caption: () => 'A new window begins: the fixed window allows everything again until it is full.',
        },
      ],
      point: (facts) =>
        `Of ${facts.sent()} requests the windows allowed ${between(facts, WINDOWS)}: after the burst they deny until it has left the window. Buckets and GCRA allowed ${between(facts, BUCKETS)}, because units come back all the time. The queue took ${facts.allowed(SHAPING)} and sends them out one by one.`,
    };
  },
};
