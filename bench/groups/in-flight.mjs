/** Limits in flight on Redis: a place is taken and given back, beside redis-semaphore. */
import { CLIENTS } from '../contenders/clients.mjs';
import { OWN, permitContenders, SEMAPHORE } from '../contenders/permits.mjs';
import { processCpuMicros } from '../measure/cpu.mjs';
import { serverCost, startRedis } from '../measure/redis-server.mjs';
import { interleave } from '../measure/rounds.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { micros, ratio } from '../report/format.mjs';
import { atMost } from '../report/reach.mjs';

const SIZES = {
  quick: { rounds: 5, sliceMs: 200, warmMs: 500 },
  full: { rounds: 11, sliceMs: 300, warmMs: 1500 },
};
const PARTS = ['wallMicros', 'clientMicros', 'serverMicros'];

/** So many at a time on one key, beside so many that others hold. */
const SCENES = [
  { atATime: 1, held: 0 },
  { atATime: 50, held: 0 },
  { atATime: 50, held: 1000 },
  { atATime: 50, held: 10_000 },
];

export const group = {
  title: 'Limits in flight on Redis',
  about: 'a place taken and given back on Redis, one and 50 at a time, beside redis-semaphore',
  place: 65,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const redis = await startRedis();
    try {
      const cells = [];
      for (const scene of SCENES) {
        progress.group(`in flight, ${nameOf(scene)}`);
        cells.push({ ...scene, rows: await measured(redis, scene, size, progress) });
        await redis.flush();
      }
      return { tables: cells.map((cell) => tableOf(cell, redis.version)), reach: cells.map(reachOf), cells };
    } finally {
      await redis.stop();
    }
  },
};

const nameOf = ({ atATime, held }) =>
  `${atATime === 1 ? 'one' : atATime} at a time${held === 0 ? '' : `, ${held} more held`}`;

async function measured(redis, { atATime, held }, { rounds, sliceMs, warmMs }, progress) {
  const opened = [];
  for (const { name, open } of permitContenders) {
    const connection = await CLIENTS.ioredis.connect(redis.port);
    const enter = open(connection, held + atATime);
    const places = [];
    for (let taken = 0; taken < held; taken += 100) {
      places.push(...(await Promise.all(Array.from({ length: Math.min(100, held - taken) }, () => enter('busy')))));
    }
    opened.push({ name, enter, places, close: () => CLIENTS.ioredis.close(connection) });
  }
  try {
    for (const { enter } of opened) await turn(redis, enter, atATime, warmMs);
    const records = await interleave({
      rounds,
      contenders: opened,
      run: ({ enter }) => turn(redis, enter, atATime, sliceMs),
      onTurn: ({ name }, round) => progress.step(`round ${round + 1}, ${name}`),
    });
    return rowsOf(opened, records);
  } finally {
    for (const { places, close } of opened) {
      await Promise.all(places.map((release) => release()));
      close();
    }
  }
}

/** Chains that take a place, give it back and take the next. Numbers are for one of both together. */
async function turn(redis, enter, atATime, sliceMs) {
  let pairs = 0;
  const work = async () => {
    const [start, cpu] = [performance.now(), processCpuMicros()];
    const end = start + sliceMs;
    const chain = async () => {
      while (performance.now() < end) {
        const release = await enter('busy');
        await release();
        pairs += 1;
      }
    };
    await Promise.all(Array.from({ length: atATime }, chain));
    return { wall: (performance.now() - start) * 1000, cpu: processCpuMicros() - cpu };
  };
  const { result, cost } = await serverCost(redis, work);
  return {
    wallMicros: result.wall / pairs,
    clientMicros: result.cpu / pairs,
    serverMicros: cost.cpuMicros / pairs,
    scriptCalls: cost.scriptCalls / pairs,
  };
}

function rowsOf(opened, records) {
  const rows = opened.map((contender) => ({ name: contender.name, ...summarise(records.get(contender)) }));
  const peer = rows.find(({ name }) => name === SEMAPHORE);
  return rows.map((row) => ({
    ...row,
    vs: Object.fromEntries(PARTS.map((part) => [part, pairedRatio(row[part], peer[part]).median])),
  }));
}

function tableOf({ rows, ...scene }, version) {
  return {
    title: `ioredis, ${nameOf(scene)} on one key, Redis ${version}`,
    columns: [
      '',
      ...['wall us', 'vs the peer', 'client CPU us', 'vs the peer', 'server CPU us', 'vs the peer', 'script calls'],
    ],
    rows: rows.map((row) => [
      row.name,
      ...PARTS.flatMap((part) => [micros(row[part].median), ratio(row.vs[part])]),
      row.scriptCalls.median.toFixed(2),
    ]),
    notes: [
      `A place taken and given back again. The peer is ${SEMAPHORE}: below 1 is less than its. It decides on the clock of the client and gives back with a ZREM; here the server's clock decides, and a release says what is left.`,
    ],
  };
}

function reachOf({ rows, ...scene }) {
  const own = rows.find(({ name }) => name === OWN);
  return atMost(
    `in flight, ${nameOf(scene)}: of ${SEMAPHORE}'s`,
    1,
    PARTS.map((part) => [part, own.vs[part]]),
  );
}
