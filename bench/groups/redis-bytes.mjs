/** Memory of Redis for a key, its name and its time to live included. */
import { ALGORITHMS, O1_ALGORITHMS } from '../contenders/policies.mjs';
import { BASELINE, redisContender } from '../contenders/redis.mjs';
import { startWorker } from '../measure/child.mjs';
import { startRedis } from '../measure/redis-server.mjs';
import { count, ratio } from '../report/format.mjs';
import { atMost } from '../report/reach.mjs';

const NAMES = [
  ...ALGORITHMS.map((algorithm) => `Sluice ${algorithm}`),
  ...[BASELINE, 'rate-limit-redis', '@upstash/ratelimit fixed window'],
];
const DEFAULT = 'Sluice sliding-counter';

export const group = {
  title: 'Memory of a key in Redis',
  about: 'bytes of Redis memory for a key, every algorithm, beside the peers',
  place: 70,
  async run({ quick, progress }) {
    const keys = quick ? 10_000 : 100_000;
    progress.group(`redis, bytes a key at ${count(keys)} keys`);
    const redis = await startRedis();
    const worker = startWorker('./redis-worker.mjs');
    try {
      await worker.ask({ do: 'open', client: 'ioredis', port: redis.port, names: NAMES, limit: 10_000 });
      const rows = [];
      for (const name of NAMES) {
        progress.step(name);
        rows.push({
          name,
          algorithm: redisContender(name).algorithm,
          bytes: await bytesOf({ redis, worker, name, keys }),
        });
      }
      return {
        tables: [tableOf(keys, rows, redis.version)],
        headlines: [headlineOf(rows)],
        behind: behindOf(rows),
        reach: [reachOf(rows)],
        rows,
      };
    } finally {
      await worker.stop();
      await redis.stop();
    }
  },
};

/** Each alone on an emptied server. Memory does not depend on the client, so one will do. */
async function bytesOf({ redis, worker, name, keys }) {
  // The first calls bring the script and the connection's buffers, which are not a key's.
  await worker.ask({ do: 'fill', name, count: 2000, inFlight: 512 });
  await redis.flush();
  const before = await redis.settledMemory();
  await worker.ask({ do: 'fill', name, count: keys, inFlight: 512 });
  const after = await redis.settledMemory();
  await redis.flush();
  return (after - before) / keys;
}

const peerOf = (rows) => rows.find(({ name }) => name === BASELINE).bytes;

function tableOf(keys, rows, version) {
  return {
    title: `${count(keys)} keys, Redis ${version}`,
    columns: ['', 'bytes/key', `vs ${BASELINE}`],
    rows: rows.map(({ name, bytes }) => [name, bytes.toFixed(1), ratio(bytes / peerOf(rows))]),
    notes: [
      'used_memory, with the name of the key and its time to live. Keys are user:100000 and so on; each adds the prefix that it adds by default.',
    ],
  };
}

function headlineOf(rows) {
  const own = rows.find(({ name }) => name === DEFAULT).bytes;
  return {
    place: 9,
    what: 'Memory of a key in Redis',
    sluice: `${own.toFixed(0)} bytes`,
    peer: `${peerOf(rows).toFixed(0)} bytes`,
    of: BASELINE,
    ratio: peerOf(rows) / own,
    means: 'How many clients fit into one Redis',
  };
}

function behindOf(rows) {
  const own = rows.filter(({ algorithm }) => O1_ALGORITHMS.includes(algorithm));
  const worst = own.reduce((one, other) => (one.bytes > other.bytes ? one : other));
  if (worst.bytes <= peerOf(rows) * 1.03) return [];
  const why =
    'its key ends in a name that its user chose and holds a count; here the key says which policy it is, and buckets keep an amount and a time';
  return [
    {
      who: BASELINE,
      where: `memory of a key in Redis, beside ${worst.algorithm}`,
      ratio: peerOf(rows) / worst.bytes,
      why,
    },
  ];
}

function reachOf(rows) {
  const own = rows.filter(({ algorithm }) => O1_ALGORITHMS.includes(algorithm));
  return atMost(
    `bytes a key in Redis, of ${BASELINE}'s`,
    1.15,
    own.map(({ algorithm, bytes }) => [algorithm, bytes / peerOf(rows)]),
  );
}
