/** Two clients, each under a key of its own. */
import { BUCKETS, between, choicesOf, inOrder, limitWords, type Plan, SHAPING, series, WINDOWS } from './story.ts';

const BUCKET = 'token-bucket';

export const greedyAndPolite: Plan = {
  id: 'greedy-and-polite',
  title: 'Greedy and polite',
  description: 'One client sends four times the limit, the other keeps within it. Each has a key of its own.',
  make(limit) {
    const { units, window } = limit;
    const gap = window / (4 * units);
    const script = inOrder(
      series(gap / 2, Math.round(7.5 * units), gap),
      series(0.1 * window, units, (2 * window) / units, 1),
    );
    const most = units + limit.burst;
    return {
      id: 'greedy-and-polite',
      title: 'Greedy and polite',
      about: `A limit of ${limitWords(limit)} for each client. The greedy one sends four times as many; the polite one half as many.`,
      limit,
      clients: ['greedy', 'polite'],
      start: 0,
      end: 1.95 * window,
      script,
      beats: [
        { at: 0 },
        {
          at: 0.3 * window,
          row: BUCKET,
          ask: {
            text: `In its first window the greedy client sends ${4 * units}. How many of them does the token bucket allow?`,
            choices: choicesOf(units, most - 1, 4 * units),
            answer: (facts) => String(facts.allowed(BUCKET)),
          },
        },
        {
          at: 0.99 * window,
          row: BUCKET,
          holds: true,
          tells: true,
          caption: (facts) =>
            `${facts.allowed(BUCKET)}: the ${limit.burst} it holds, and one for each that came back meanwhile. That is what a bucket promises: capacity + rate × time.`,
        },
        {
          at: 1.02 * window,
          row: 'fixed-window',
          caption: (facts) =>
            `Windows start over: ${facts.allowed('fixed-window')} so far. The polite client never notices any of this.`,
        },
      ],
      point: (facts) =>
        `Of ${facts.sent()} requests of the greedy client the windows allowed ${between(facts, WINDOWS)}, buckets and GCRA ${between(facts, [...BUCKETS, SHAPING])}: their capacity immediately and their rate on top. The polite client got ${politely(facts.allowed('token-bucket', 1), facts.sent(1))}: a limit belongs to a key.`,
    };
  },
};

function politely(allowed: number, sent: number): string {
  return allowed === sent ? `all of its ${sent}` : `${allowed} of its ${sent}`;
}
