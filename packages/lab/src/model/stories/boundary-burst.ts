/** A whole limit just before the edge of a window, and another just after. */
import { seconds } from '../../words/words.ts';
import { BUCKETS, between, choicesOf, inOrder, limitWords, ONE_CLIENT, type Plan, SHAPING, series } from './story.ts';

const FIXED = 'fixed-window';
const OTHERS = ['sliding-window-log', 'sliding-window-counter', ...BUCKETS, SHAPING];

export const boundaryBurst: Plan = {
  id: 'boundary-burst',
  title: 'Twice the limit',
  description:
    'Ten requests just before a window ends and ten just after: a fixed window allows all twenty within a second.',
  make(limit) {
    const { units, window } = limit;
    const gap = (0.025 * window) / units;
    const [before, after] = [0.95 * window, 1.005 * window];
    const script = inOrder(series(before, units, gap), series(after, units, gap));
    const within = seconds(after + (units - 1) * gap - before, 2);
    return {
      id: 'boundary-burst',
      title: 'Twice the limit',
      about: `A limit of ${limitWords(limit)}. A client knows when a window of the clock ends: it sends ${units} requests just before that, and ${units} just after.`,
      limit,
      clients: ONE_CLIENT,
      start: 0.8 * window,
      end: 1.1 * window,
      script,
      beats: [
        { at: 0.8 * window },
        {
          at: 0.945 * window,
          pace: 0.12,
          caption: () => `The first ${units} requests come. Every row allows them: that is the limit.`,
        },
        {
          at: 0.99 * window,
          row: FIXED,
          ask: {
            text: `The window ends now, and ${units} more come right after. How many of them does the fixed window allow?`,
            choices: choicesOf(0, 1, units),
            answer: (facts) => String(facts.allowed(FIXED) - units),
          },
          pace: 0.12,
        },
        {
          at: 1.035 * window,
          row: FIXED,
          holds: true,
          tells: true,
          caption: (facts) =>
            `${facts.allowed(FIXED)} requests in ${within}, where ${units} were meant. At the edge the count starts again at 0.`,
        },
        {
          at: 1.04 * window,
          row: 'sliding-window-counter',
          holds: true,
          caption: (facts) =>
            `The sliding counter still counts nearly all of the window before: it allowed ${facts.allowed('sliding-window-counter')} in all.`,
        },
      ],
      point: (facts) =>
        `Around an edge, a fixed window allowed ${facts.allowed(FIXED)} of ${facts.sent()} within ${within}. The other rows remember what came before it and allowed ${between(facts, OTHERS)}.`,
    };
  },
};
