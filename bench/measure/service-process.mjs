/** `sluice serve` as people start it, and what each of its processes uses of the processor. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../../packages/server/bin/sluice.mjs', import.meta.url));
const CONFIG = 'policies: { api: { algorithm: sliding-window-counter, limit: 1000000000, window: 1d } }\n';

/** `text` is the config, `more` further arguments, `command` the file that is run. */
export async function startService({ workers, redisPort, text = CONFIG, more = [], command = COMMAND }) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const config = join(folder, 'policies.yaml');
  writeFileSync(config, text);
  const address = ['--redis', `redis://127.0.0.1:${redisPort}`, '--workers', String(workers), '--port', '0', '--json'];
  const child = spawn(process.execPath, [command, 'serve', '--config', config, ...address, ...more], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said = `${said}${text}`.slice(-2000);
  });
  const { value: greeting } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  if (greeting === undefined) throw new Error(`the service ended before it listened: ${said}`);
  const { url, grpc = '' } = JSON.parse(greeting);
  return {
    url,
    grpcPort: Number(grpc.split(':').at(-1)),
    residentMb: () => residentMbOf(child.pid),
    /** Microseconds of CPU so far, by process: the one that was started, and its workers. */
    cpu: () => Object.fromEntries([child.pid, ...childrenOf(child.pid)].map((pid) => [pid, cpuMicrosOf(pid)])),
    async stop() {
      const ended = child.exitCode === null ? once(child, 'exit') : undefined;
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function childrenOf(pid) {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** Of all its threads. */
function cpuMicrosOf(pid) {
  const nanos = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanos.reduce((sum, one) => sum + one, 0) / 1000;
}

/** Resident memory of a process, in MB. */
export function residentMbOf(pid) {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
}

const TICK_MICROS = 10_000;

/** Microseconds of CPU of all children of this process that have ended. */
export function endedChildrenMicros() {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_MICROS;
}
