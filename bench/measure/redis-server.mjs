/** A Redis server of the bench's own, and what it says of itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';
import { CLIENTS } from '../contenders/clients.mjs';

const SERVERS = fileURLToPath(new URL('../../tools/servers/index.ts', import.meta.url));

export async function startRedis() {
  const { module } = await runnerImport(SERVERS);
  const server = await module.startServer({ kind: 'redis' });
  const admin = await CLIENTS.ioredis.connect(server.port);
  return {
    port: server.port,
    version: server.version,
    flush: () => admin.flushall(),
    command: (...words) => admin.call(...words),
    snapshot: () => snapshot(admin),
    settledMemory: () => settledMemory(admin),
    async stop() {
      admin.disconnect();
      await server.stop();
    },
  };
}

/** Commands that a client sends to have a script run; what the scripts call is counted by the server beside them. */
const SCRIPT_COMMANDS = new Set(['eval', 'evalsha', 'eval_ro', 'evalsha_ro', 'fcall', 'fcall_ro']);
/** What the bench itself asks. */
const OWN_COMMANDS = new Set(['info']);

async function snapshot(admin) {
  const text = await admin.info('all');
  const fields = Object.fromEntries(text.split('\r\n').flatMap((line) => (line.includes(':') ? [split(line)] : [])));
  const taken = { scriptCalls: 0, scriptMicros: 0, commands: 0 };
  for (const [name, value] of Object.entries(fields)) {
    if (!name.startsWith('cmdstat_')) continue;
    const command = name.slice('cmdstat_'.length);
    if (OWN_COMMANDS.has(command)) continue;
    const calls = Number(/calls=(\d+)/.exec(value)[1]);
    taken.commands += calls;
    if (!SCRIPT_COMMANDS.has(command)) continue;
    taken.scriptCalls += calls;
    taken.scriptMicros += Number(/usec=(\d+)/.exec(value)[1]);
  }
  return {
    ...taken,
    cpuMicros: (Number(fields.used_cpu_user) + Number(fields.used_cpu_sys)) * 1e6,
    inputBytes: Number(fields.total_net_input_bytes),
    outputBytes: Number(fields.total_net_output_bytes),
    // Less the buffers of connections, which come and go by themselves.
    usedMemory: Number(fields.used_memory) - Number(fields.mem_clients_normal ?? 0),
  };
}

function split(line) {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1)];
}

const minus = (a, b) => Object.fromEntries(Object.keys(a).map((name) => [name, a[name] - b[name]]));

/** What a piece of work cost the server, less what asking for it costs. */
export async function serverCost(redis, work) {
  const first = await redis.snapshot();
  const before = await redis.snapshot();
  const result = await work();
  const after = await redis.snapshot();
  return { result, cost: minus(minus(after, before), minus(before, first)) };
}

/** The server finishes its rehashing in the background; memory is read when it no longer moves. */
async function settledMemory(admin) {
  let last = Number.NaN;
  for (let attempt = 0; attempt < 40; attempt += 1) {
    await sleep(120);
    const { usedMemory } = await snapshot(admin);
    if (Math.abs(usedMemory - last) < 4096) return usedMemory;
    last = usedMemory;
  }
  return last;
}
