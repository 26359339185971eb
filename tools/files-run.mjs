/**
 * Counts the source files that run a function for one attempt: `node tools/files-run.mjs`, after a build. V8 counts calls from the moment it is
 * asked, so what only the start needs is not in it. The fewer files, the fewer a reader has to open to follow an attempt.
 */
import { Session } from 'node:inspector/promises';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const DIST = fileURLToPath(new URL('../packages/sluice/dist/', import.meta.url));
const WARM_UP = 200;

/** What is measured: how to make a limiter, and how to end it. */
const SETUPS = {
  memory: async () => {
    const { createLimiter, memoryStore, tokenBucket } = await import('sluice');
    const policy = tokenBucket({ capacity: 1e9, refillRate: 1 });
    return { limiter: createLimiter({ policy, store: memoryStore() }), end: () => undefined };
  },
  redis: async (url) => {
    const { createLimiter, tokenBucket } = await import('sluice');
    const { redisStore } = await import('sluice/ioredis');
    const { Redis } = await import('ioredis');
    const client = new Redis(url);
    client.on('error', () => undefined);
    const policy = tokenBucket({ capacity: 1e9, refillRate: 1 });
    return { limiter: createLimiter({ policy, store: redisStore(client) }), end: () => client.disconnect() };
  },
};

/** The TypeScript files, and the functions of each, that one attempt runs. `url` is that of a Redis server, for `redis`. */
export async function filesRun(setup, url) {
  const { limiter, end } = await SETUPS[setup](url);
  for (let attempt = 0; attempt < WARM_UP; attempt += 1) await limiter.attempt('someone');
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await limiter.attempt('someone');
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  end();
  return sourcesOf(result);
}

function sourcesOf(scripts) {
  const files = {};
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:') || !fileURLToPath(url).startsWith(DIST)) continue;
    const ran = functions
      .filter(({ ranges }) => ranges[0].count > 0)
      .map(({ functionName }) => functionName || '(anonymous)');
    const file = relative(DIST, fileURLToPath(url)).split(sep).join('/').replace(/\.js$/, '.ts');
    if (ran.length > 0) files[file] = ran;
  }
  return files;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , setup = 'memory', url = process.env.REDIS_URL] = process.argv;
  const files = await filesRun(setup, url);
  if (process.argv.includes('--json')) console.log(JSON.stringify(files));
  else for (const [file, functions] of Object.entries(files)) console.log(`${file}: ${functions.join(', ')}`);
  if (!process.argv.includes('--json')) console.log(`${Object.keys(files).length} files for one attempt (${setup})`);
  process.exit();
}
