/**
 * The 30 requests every algorithm is asked about, in three acts. Moments are whole milliseconds of simulated time. Windows
 * start at whole seconds, so the first act lies astride the edge at 1 s.
 */

const BURST_MS = 65;
const TRICKLE_MS = 160;

export const acts = [
  {
    title: 'window edge',
    story: '5 requests just before a fixed window ends at 1 s, and 5 just after',
    moments: [
      ...series({ from: 700, every: BURST_MS, count: 5 }),
      ...series({ from: 1080, every: BURST_MS, count: 5 }),
    ],
  },
  {
    title: 'burst',
    story: 'a second of silence, then 10 requests in a row',
    moments: series({ from: 2350, every: BURST_MS, count: 10 }),
  },
  {
    title: 'steady, a bit too fast',
    story: 'one request every 160 ms: 6.25 a second where 5 are allowed',
    moments: series({ from: 3100, every: TRICKLE_MS, count: 10 }),
  },
];

export const moments = acts.flatMap((act) => act.moments);

function series({ from, every, count }) {
  return Array.from({ length: count }, (_, index) => from + index * every);
}
