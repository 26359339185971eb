/**
 * What is done to the server, or on the way to it. `strike` resolves when it is over and the server is there again.
 * - `through`: how the clients reach it: straight, over the proxy, or by Sentinel.
 * - `forgets`: the server may come back without some or all of what it knew.
 * - `clients`: the packages, one for each process, where they are not the usual ones; `options`: theirs, where not their defaults.
 * - `hurts`: attempts must have been answered by the fallback, or the fault has not happened; `spared`: none may have been.
 * - `storeOptions`: of `redisStore`, where not its defaults.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

export const FAULTS = [
  {
    name: 'absent',
    title: 'the server is not there when the processes start, for 3 s',
    through: 'nothing yet',
    hurts: true,
    // GLIDE does not make a client without a server.
    clients: ['ioredis', 'ioredis', 'node-redis'],
    async strike(world) {
      await sleep(3000);
      world.server = await world.startServer();
    },
  },
  {
    name: 'kill',
    title: 'kill -9, a new and empty server after 3 s',
    through: 'nothing',
    forgets: true,
    hurts: true,
    async strike(world) {
      const { pid, process: running, port } = world.server;
      process.kill(pid, 'SIGKILL');
      await once(running, 'exit');
      await sleep(3000);
      world.server = await world.startServer(port);
    },
  },
  {
    name: 'stop',
    title: 'SIGSTOP for 10 s',
    through: 'nothing',
    hurts: true,
    async strike({ server }) {
      process.kill(server.pid, 'SIGSTOP');
      await sleep(10_000);
      process.kill(server.pid, 'SIGCONT');
    },
  },
  {
    name: 'script-flush',
    title: 'SCRIPT FLUSH without a pause for 5 s',
    through: 'nothing',
    async strike({ admin }) {
      const until = performance.now() + 5000;
      while (performance.now() < until) await admin.call('SCRIPT', 'FLUSH');
    },
    /** That it has happened: answers "I do not know this script". */
    async evidence({ server }) {
      const errors = String(await server.command('INFO', 'errorstats'));
      return { 'times a script was not known': Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(errors)?.[1] ?? 0) };
    },
  },
  {
    name: 'client-pause',
    title: 'CLIENT PAUSE for 3 s',
    through: 'nothing',
    hurts: true,
    async strike({ server }) {
      await server.command('CLIENT', 'PAUSE', '3000', 'ALL');
      await sleep(3000);
    },
  },
  {
    name: 'resets',
    title: 'every connection is reset, every 200 ms, for 5 s',
    through: 'proxy',
    hurts: true,
    async strike({ proxy }) {
      for (let times = 0; times < 25; times += 1) {
        proxy.reset();
        await sleep(200);
      }
    },
  },
  {
    name: 'lost-replies',
    title: 'requests arrive, replies do not, then a reset: 10 times in 10 s',
    through: 'proxy',
    hurts: true,
    async strike({ proxy }) {
      for (let times = 0; times < 10; times += 1) {
        proxy.hold('replies');
        await sleep(100);
        proxy.reset();
        proxy.pass();
        await sleep(900);
      }
    },
  },
  {
    name: 'black-hole',
    title: 'nothing passes for 5 s and nobody is told, then all of it does',
    through: 'proxy',
    hurts: true,
    async strike({ proxy }) {
      proxy.hold();
      await sleep(5000);
      proxy.pass();
    },
  },
  {
    name: 'dead-connection',
    title: 'connections go silent for ever, new ones work; clients are told to give up on silence',
    through: 'proxy',
    hurts: true,
    // GLIDE has no such option, and does not notice by itself. By default the others wait until the system gives up.
    clients: ['ioredis', 'ioredis', 'node-redis'],
    options: {
      ioredis: { socketTimeout: 2000 },
      'node-redis': { pingInterval: 200, socket: { socketTimeout: 700, reconnectStrategy: 100 } },
    },
    async strike({ proxy }) {
      proxy.abandon();
    },
  },
  {
    name: 'slow',
    title: 'every round trip takes 120 ms longer, for 5 s: slowness is no outage',
    through: 'proxy',
    spared: true,
    async strike({ proxy }) {
      proxy.delay(60);
      await sleep(5000);
      proxy.pass();
    },
  },
  {
    name: 'very-slow',
    title: 'every round trip takes 600 ms longer, for 5 s',
    through: 'proxy',
    hurts: true,
    async strike({ proxy }) {
      proxy.delay(300);
      await sleep(5000);
      proxy.pass();
    },
  },
  {
    name: 'replica',
    title: 'the server is made a replica (READONLY) for 4 s',
    through: 'nothing',
    hurts: true,
    async strike({ server }) {
      // Of a master that is not there, so that it keeps what it has.
      await server.command('REPLICAOF', server.host, '1');
      await sleep(4000);
      await server.command('REPLICAOF', 'NO', 'ONE');
    },
  },
  {
    name: 'out-of-memory',
    title: 'maxmemory is reached, noeviction, for 4 s',
    through: 'nothing',
    hurts: true,
    async strike({ server }) {
      await server.command('CONFIG', 'SET', 'maxmemory', '1');
      await sleep(4000);
      await server.command('CONFIG', 'SET', 'maxmemory', '0');
    },
  },
  {
    name: 'busy',
    title: 'a script of somebody else runs for 4 s (hangs, then BUSY)',
    through: 'nothing',
    hurts: true,
    async strike({ server }) {
      await server.command('CONFIG', 'SET', 'lua-time-limit', '1000');
      const killed = server.command('EVAL', 'while true do end', '0').catch(() => undefined);
      await sleep(4000);
      await server.command('SCRIPT', 'KILL');
      await killed;
    },
  },
  {
    name: 'loading',
    title: 'the server loads its data for some 4 s (LOADING)',
    through: 'nothing',
    hurts: true,
    async strike({ server }) {
      await server.command('DEBUG', 'POPULATE', '2000', 'filler', '1000');
      await server.command('CONFIG', 'SET', 'key-load-delay', '2000');
      await server.command('CONFIG', 'SET', 'loading-process-events-interval-bytes', '1024');
      await server.command('DEBUG', 'RELOAD');
      await server.command('CONFIG', 'SET', 'key-load-delay', '0');
    },
  },
  {
    name: 'failover',
    title: 'Sentinel: the master is killed, its replica takes over',
    through: 'sentinel',
    forgets: true,
    hurts: true,
    // GLIDE does not know Sentinel.
    clients: ['ioredis', 'ioredis', 'node-redis'],
    async strike(world) {
      process.kill(world.server.pid, 'SIGKILL');
      world.server = world.replica;
      const until = performance.now() + 30_000;
      while (!String(await world.server.command('INFO', 'replication')).includes('role:master')) {
        if (performance.now() > until) throw new Error('Sentinel has not made the replica the master within 30 s');
        await sleep(20);
      }
    },
  },
  {
    name: 'failover-wait',
    title: 'Sentinel: the same with `wait: { replicas: 1 }`, the old master comes back as a replica',
    through: 'sentinel',
    hurts: true,
    clients: ['ioredis', 'ioredis', 'node-redis'],
    storeOptions: { wait: { replicas: 1 } },
    async strike(world) {
      const { pid, port, process: running } = world.server;
      process.kill(pid, 'SIGKILL');
      await once(running, 'exit');
      world.server = world.replica;
      const until = performance.now() + 30_000;
      const isReady = async (words) => String(await world.server.command('INFO', 'replication')).includes(words);
      const wait = async (words) => {
        while (!(await isReady(words))) {
          if (performance.now() > until) throw new Error(`not within 30 s: ${words}`);
          await sleep(20);
        }
      };
      await wait('role:master');
      world.old = await world.startServer(port, world.server);
      await wait('state=online');
    },
  },
];
