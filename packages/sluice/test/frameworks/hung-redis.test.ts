/**
 * With Redis hung (SIGSTOP) every framework answers every request, over real sockets, with `redisStore(client)` as it is by default: with 200, by
 * the fallback, and before Redis goes on, for which the test waits as long as it takes. When Redis goes on it decides again. How long the
 * answers take is measured by `npm run faults -- --only frameworks`: times say something only on a machine with nothing else to do.
 */
import { expect, test } from 'vitest';
import { FRAMEWORKS, runFramework } from '../../../../faults/frameworks.mjs';
import * as servers from '../../../../tools/servers/index.ts';

test.each(FRAMEWORKS)('%s', async (framework) => {
  const { wrong, measured } = await runFramework(framework, servers, { stoppedMs: 1000 });
  expect(wrong, JSON.stringify(measured)).toEqual([]);
});
