/** Load from a program in C, so that the cores are left to what is measured: Debian's wrk, found like the servers of the tests. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runnerImport } from 'vite';
import { endedChildrenMicros } from './service-process.mjs';

const run = promisify(execFile);
const PROGRAMS = fileURLToPath(new URL('../../tools/servers/programs.ts', import.meta.url));
/** POST /v1/attempt for a thousand users in turn. */
const SCRIPT = `
local bodies, at = {}, 0
function init()
  for user = 1, 1000 do
    bodies[user] = wrk.format('POST', '/v1/attempt', { ['Content-Type'] = 'application/json' }, '{"policy":"api","key":"user-' .. user .. '"}')
  end
end
function request() at = at % 1000 + 1 return bodies[at] end
`;

/** It has no way to say that it is there: the trial is a second of load on \`url\`. */
export async function findWrk(url) {
  const { module } = await runnerImport(PROGRAMS);
  const trial = ['-t', '1', '-c', '1', '-d', '1s', `${url}/healthz`];
  const { file, env } = await module.findProgram({ name: 'wrk', packageName: 'wrk', trial });
  const script = join(tmpdir(), `sluice-bench-${process.pid}.lua`);
  writeFileSync(script, SCRIPT);
  return async ({ url: target, connections, seconds }) => {
    const before = endedChildrenMicros();
    const args = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '-s', script, target];
    const { stdout } = await run(file, args, { env: { ...process.env, ...env } });
    if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
    const [, requests, time] = /(\d+) requests in ([\d.]+)s/.exec(stdout);
    return { requests: Number(requests), seconds: Number(time), cpuMicros: endedChildrenMicros() - before };
  };
}
