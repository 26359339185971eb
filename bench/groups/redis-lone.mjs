/** One attempt at a time on Redis, which is what most requests of a server are: wall time, CPU of the client, CPU of the server. */
import { O1_ALGORITHMS } from '../contenders/policies.mjs';
import { BASELINE } from '../contenders/redis.mjs';
import { besideOf, KEYS, openClient } from '../measure/redis-cell.mjs';
import { startRedis } from '../measure/redis-server.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';
import { atMost } from '../report/reach.mjs';

const SIZES = { quick: { rounds: 3, sliceMs: 60, warmMs: 60 }, full: { rounds: 9, sliceMs: 150, warmMs: 300 } };
const CLIENTS = ['ioredis', 'node-redis'];
const EMPTY = 'empty EVALSHA';
const NAMES = [
  ...O1_ALGORITHMS.map((algorithm) => `Sluice ${algorithm}`),
  ...['Sluice gcra, bare', BASELINE, 'rate-limit-redis', '@upstash/ratelimit fixed window', EMPTY],
];
const DEFAULT = 'Sluice sliding-counter';

export const group = {
  title: 'One attempt at a time on Redis',
  about: 'a lone attempt on Redis through ioredis and node-redis beside rate-limiter-flexible',
  place: 50,
  async run({ quick, progress, against }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const redis = await startRedis();
    try {
      const cells = [];
      for (const client of CLIENTS) {
        progress.group(`redis, one at a time, ${client}`);
        const opened = await openClient({ redis, client, names: NAMES, against });
        try {
          cells.push({ client, inFlight: 1, rows: await opened.turns(1, size, progress) });
        } finally {
          await opened.close();
        }
        await redis.flush();
      }
      const tables = cells.map((cell) => tableOf(cell, redis.version));
      return {
        tables,
        headlines: headlinesOf(cells),
        behind: cells.flatMap(behindOf),
        reach: cells.flatMap(reachOf),
        beside: besideOf(cells),
        cells,
      };
    } finally {
      await redis.stop();
    }
  },
};

function tableOf({ client, rows }, version) {
  const hasOther = rows.some(({ vsOther }) => vsOther !== undefined);
  return {
    title: `${client}, ${count(KEYS)} keys, Redis ${version}`,
    columns: [
      ...[
        '',
        'wall us',
        'min-max',
        'vs the peer',
        'p99 us',
        'client CPU us',
        'vs the peer',
        'server CPU us',
        'vs the peer',
        'bytes in',
        'bytes out',
      ],
      ...(hasOther ? ['wall vs the other commit', 'client CPU', 'server CPU'] : []),
    ],
    rows: rows.map((row) => [
      ...[row.name, micros(row.wallMicros.median), spread(row.wallMicros, micros), ratio(row.vs.wallMicros)],
      ...[micros(row.p99Ms.median * 1000), micros(row.clientMicros.median), ratio(row.vs.clientMicros)],
      ...[micros(row.serverMicros.median), ratio(row.vs.serverMicros)],
      ...[row.inputBytes.median.toFixed(0), row.outputBytes.median.toFixed(0)],
      ...(hasOther
        ? ['wallMicros', 'clientMicros', 'serverMicros'].map((part) =>
            row.vsOther === undefined ? '' : ratio(row.vsOther[part]),
          )
        : []),
    ]),
    notes: [
      `The peer is ${BASELINE}: below 1 is less than its. "bare" is without the layers that answer when Redis does not. An empty script is what client and server cost when nothing is decided.`,
    ],
  };
}

function headlinesOf(cells) {
  const { rows } = cells.find(({ client }) => client === 'ioredis');
  const [own, peer] = [DEFAULT, BASELINE].map((wanted) => rows.find(({ name }) => name === wanted));
  return [
    {
      place: 6,
      what: 'Time of a lone check on Redis (ioredis)',
      sluice: `${micros(own.wallMicros.median)} µs`,
      peer: `${micros(peer.wallMicros.median)} µs`,
      of: BASELINE,
      ratio: 1 / own.vs.wallMicros,
      means: 'What a limit adds to a request when nothing else is going on; client, network stack and server together',
      readme: true,
    },
  ];
}

function behindOf({ client, rows }) {
  const words = { wallMicros: 'time', clientMicros: 'CPU of the client', serverMicros: 'CPU of the server' };
  return Object.keys(words).flatMap((part) => {
    const own = rows.filter(({ algorithm }) => algorithm !== undefined);
    const worst = own.reduce((one, other) => (one.vs[part] > other.vs[part] ? one : other));
    if (worst.vs[part] <= 1.03) return [];
    const why =
      'its script is an INCR and a PTTL; a script here reads the clock of the server, decides and answers when the limit is back';
    return [
      {
        who: BASELINE,
        where: `one attempt at a time on ${client}, ${words[part]}, beside ${worst.name.replace('Sluice ', '')}`,
        ratio: 1 / worst.vs[part],
        why,
      },
    ];
  });
}

function reachOf({ client, rows }) {
  const own = rows.filter(({ algorithm }) => algorithm !== undefined);
  return ['wallMicros', 'clientMicros', 'serverMicros'].map((part) =>
    atMost(
      `${client}, one in flight: ${part} of ${BASELINE}'s`,
      1,
      own.map(({ name, vs }) => [name.replace('Sluice ', ''), vs[part]]),
    ),
  );
}
