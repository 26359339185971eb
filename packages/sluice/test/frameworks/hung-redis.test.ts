/**
 * With Redis hung (SIGSTOP) every framework answers every request within the deadline + 20 ms: over real sockets, with `redisStore(client)` as
 * it is by default. What the two processes themselves were late by meanwhile does not count, and a plain server in the same process is what
 * the answers are compared with, so that a slow machine is no failure; a slow adapter is one on every machine. `npm run faults -- --only
 * frameworks` shows the numbers.
 */
import { expect, test } from 'vitest';
import { FRAMEWORKS, keepsInTime } from '../../../../faults/frameworks.mjs';
import * as servers from '../../../../tools/servers/index.ts';

test.each(FRAMEWORKS)('%s', async (framework) => {
  const { broken, measured } = await keepsInTime(framework, servers, { stoppedMs: 1000 });
  expect(broken, JSON.stringify(measured)).toEqual([]);
});
