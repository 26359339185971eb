/** Many attempts at a time on Redis, as a busy server has them: those of one turn of the event loop share a call. */
import { O1_ALGORITHMS } from '../contenders/policies.mjs';
import { BASELINE } from '../contenders/redis.mjs';
import { besideOf, KEYS, openClient } from '../measure/redis-cell.mjs';
import { startRedis } from '../measure/redis-server.mjs';
import { count, micros, millis, ratio, spread } from '../report/format.mjs';
import { atLeast } from '../report/reach.mjs';

const SIZES = { quick: { rounds: 3, sliceMs: 50, warmMs: 50 }, full: { rounds: 7, sliceMs: 120, warmMs: 250 } };
const CLIENTS = ['ioredis', 'node-redis'];
const IN_FLIGHT = [64, 512];
const EXPRESS = 'rate-limit-redis';
const UPSTASH = '@upstash/ratelimit fixed window';
const NAMES = [
  ...[...O1_ALGORITHMS, 'sliding-log'].map((algorithm) => `Sluice ${algorithm}`),
  ...['Sluice gcra, bare', BASELINE, EXPRESS, UPSTASH, 'empty EVALSHA'],
];
const DEFAULT = 'Sluice sliding-counter';

export const group = {
  title: 'Many attempts at a time on Redis',
  about: '64 and 512 attempts in flight on Redis beside rate-limiter-flexible, rate-limit-redis, @upstash/ratelimit',
  place: 60,
  async run({ quick, progress, against }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const redis = await startRedis();
    try {
      const cells = [];
      for (const client of CLIENTS) {
        const opened = await openClient({ redis, client, names: NAMES, against });
        try {
          for (const inFlight of IN_FLIGHT) {
            progress.group(`redis, ${inFlight} in flight, ${client}`);
            cells.push({ client, inFlight, rows: await opened.turns(inFlight, size, progress) });
          }
        } finally {
          await opened.close();
        }
        await redis.flush();
      }
      const tables = cells.map((cell) => tableOf(cell, redis.version));
      return {
        tables,
        headlines: headlinesOf(cells),
        behind: [],
        reach: cells.map(reachOf),
        beside: besideOf(cells),
        lines: [comparisonLine(cells)],
        cells,
      };
    } finally {
      await redis.stop();
    }
  },
};

function tableOf({ client, inFlight, rows }, version) {
  const hasOther = rows.some(({ vsOther }) => vsOther !== undefined);
  return {
    title: `${client}, ${inFlight} in flight, ${count(KEYS)} keys, Redis ${version}`,
    columns: [
      ...[
        '',
        'checks/s',
        'min-max',
        'times the peer',
        'p50 ms',
        'p99 ms',
        'client CPU us',
        'vs the peer',
        'server CPU us',
        'vs the peer',
        'script calls',
      ],
      ...(hasOther ? ['times the other commit', 'client CPU', 'server CPU'] : []),
    ],
    rows: rows.map((row) => [
      ...[row.name, count(row.perSecond.median), spread(row.perSecond, count), ratio(1 / row.vs.wallMicros)],
      ...[
        millis(row.p50Ms.median),
        millis(row.p99Ms.median),
        micros(row.clientMicros.median),
        ratio(row.vs.clientMicros),
      ],
      ...[micros(row.serverMicros.median), ratio(row.vs.serverMicros), row.scriptCalls.median.toFixed(3)],
      ...(hasOther ? othersOf(row) : []),
    ]),
    notes: [
      `The peer is ${BASELINE}. Columns "vs the peer" are parts of its: below 1 is less. Script calls are for one check.`,
    ],
  };
}

const othersOf = ({ vsOther }) =>
  vsOther === undefined
    ? ['', '', '']
    : [ratio(1 / vsOther.wallMicros), ratio(vsOther.clientMicros), ratio(vsOther.serverMicros)];

const rowsAt = (cells, client, inFlight) =>
  cells.find((cell) => cell.client === client && cell.inFlight === inFlight).rows;

function headlinesOf(cells) {
  const rows = rowsAt(cells, 'ioredis', 512);
  const [own, peer] = [DEFAULT, BASELINE].map((wanted) => rows.find(({ name }) => name === wanted));
  return [
    {
      place: 7,
      what: 'Checks a second on Redis, 512 at a time (ioredis)',
      sluice: count(own.perSecond.median),
      peer: count(peer.perSecond.median),
      of: BASELINE,
      ratio: 1 / own.vs.wallMicros,
      means: 'What one process gets out of one connection when it is busy: attempts of one moment share a call',
      readme: true,
    },
    {
      place: 8,
      what: 'CPU of Redis for one of these checks',
      sluice: `${micros(own.serverMicros.median)} µs`,
      peer: `${micros(peer.serverMicros.median)} µs`,
      of: BASELINE,
      ratio: 1 / own.vs.serverMicros,
      means: 'How many processes one Redis can serve: it has one core',
      readme: true,
    },
  ];
}

/** The line of the README's comparison that speaks of it. */
function comparisonLine(cells) {
  const rows = rowsAt(cells, 'ioredis', 512);
  const round = (name) => count(Math.round(rows.find((row) => row.name === name).perSecond.median / 1000) * 1000);
  const start = '| Checks a second (ioredis, 512 at a time) |';
  return { start, text: `${start} ${[DEFAULT, EXPRESS, BASELINE, UPSTASH].map(round).join(' | ')} | not measured |` };
}

function reachOf({ client, inFlight, rows }) {
  const own = rows.filter(({ algorithm }) => O1_ALGORITHMS.includes(algorithm));
  const bound = inFlight === 64 ? 2.3 : 3.3;
  return atLeast(
    `${client}, ${inFlight} in flight: checks/s, times ${BASELINE}`,
    bound,
    own.map(({ name, vs }) => [name.replace('Sluice ', ''), 1 / vs.wallMicros]),
  );
}
