/** A sender that has several things to deliver at the same moment, and a receiver that would like them one by one. */
import { seconds } from '../../words/words.ts';
import { BUCKETS, between, choicesOf, inOrder, ONE_CLIENT, type Plan, SHAPING, series, WINDOWS } from './story.ts';

export const smoothWebhooks: Plan = {
  id: 'smooth-webhooks',
  title: 'Webhook sender',
  description: 'Six webhooks fall due at the same moment, three times. Only shaping gives each a slot of its own.',
  make(limit) {
    const { units, window } = limit;
    const due = Math.max(2, Math.round(0.6 * units));
    const script = inOrder(...[0.2, 1.25, 2.3].map((at) => series(at * window, due, 0)));
    const interval = seconds(window / units, window / units < 1000 ? 2 : 1);
    return {
      id: 'smooth-webhooks',
      title: 'Webhook sender',
      about: `${due} webhooks fall due at the same moment, three times. The receiver is slow and would like them one at a time.`,
      limit,
      clients: ONE_CLIENT,
      start: 0,
      end: 2.75 * window,
      script,
      beats: [
        { at: 0 },
        {
          at: 0.17 * window,
          row: SHAPING,
          ask: {
            text: `${due} webhooks are due now, and a queue gives one slot every ${interval}. How many go out right away?`,
            choices: choicesOf(0, 1, due),
            answer: () => '1',
          },
          pace: 0.3,
        },
        {
          at: 0.23 * window,
          row: SHAPING,
          holds: true,
          tells: true,
          caption: (facts) =>
            `One went, and ${due - 1} wait for their slots, up to ${seconds(facts.longestWait(SHAPING))}. Every other row sent all ${due} at the same moment.`,
        },
        {
          at: 0.27 * window,
          pace: 1.2,
          caption: () => 'Diamonds are the moments at which the receiver sees a request.',
        },
      ],
      point: (facts) =>
        `All ${facts.sent()} were within the limit, so windows, buckets and GCRA allowed ${between(facts, [...WINDOWS, ...BUCKETS])} in bursts of ${due}. Shaping allowed ${facts.allowed(SHAPING)} too, one every ${interval}: a limit protects a quota, a queue protects a receiver.`,
    };
  },
};
