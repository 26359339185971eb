/** How many files a reader has to open to follow one attempt: held, so that it only ever falls. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startServer } from './servers/index.ts';

const run = promisify(execFile);

/** In a process of its own, on the built package: coverage is of all that a process does. */
async function filesRun(...args: string[]): Promise<Record<string, string[]>> {
  const tool = fileURLToPath(new URL('files-run.mjs', import.meta.url));
  return JSON.parse((await run(process.execPath, [tool, ...args, '--json'])).stdout);
}

test('in memory', async () => {
  const files = await filesRun('memory');
  expect(files['algorithms/shared/level.ts']).toContain('transition');
  expect(Object.keys(files).length, Object.keys(files).join('\n')).toBeLessThanOrEqual(10);
});

/** Every layer, the health of the server, the batch and the client among them. */
const MOST_ON_REDIS = 15;

test('on Redis, with redisStore(client)', async () => {
  const server = await startServer({ kind: 'redis' });
  try {
    const files = await filesRun('redis', server.url);
    expect(files['redis/redis-store.ts']).toContain('ask');
    expect(Object.keys(files).length, Object.keys(files).join('\n')).toBeLessThanOrEqual(MOST_ON_REDIS);
  } finally {
    await server.stop();
  }
});
