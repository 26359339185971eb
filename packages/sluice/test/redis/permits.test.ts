/**
 * Eight processes hold permits of one key, and three of them are killed while they do. Sorted by the server's time, never more are held than the limit
 * allows; and the places of the dead come back with their ttl.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type Clock, concurrency, createLimiter, type Store } from '../../src/index.ts';
import { randomFrom, testSeed } from '../support/random.ts';
import { expectSamePermits } from './support/many-permits.ts';
import { serversOf, TOPOLOGIES } from './support/topologies.ts';

const LIMIT = 5;
const TTL_MS = 3000;
const MICROS = 1e6;

interface Holding {
  readonly from: number;
  to: number;
}

interface Worker {
  readonly process: ChildProcess;
  /** By what the permit is known by. */
  readonly holdings: Map<number, Holding>;
  stopped: Promise<unknown>;
}

const servers = serversOf('redis');
afterAll(() => servers.stop());

async function startWorker(): Promise<Worker> {
  const file = fileURLToPath(new URL('support/permit-worker.mjs', import.meta.url));
  const child = fork(file, { execArgv: [] });
  const holdings = new Map<number, Holding>();
  await once(child, 'message');
  const stopped = new Promise((resolve, reject) => {
    child.on('exit', (code) => (code === 0 || code === null ? resolve(code) : reject(new Error(`code ${code}`))));
    child.on('message', ({ entered, released, lost, stopped }: Record<string, { id: number; at: number }>) => {
      // Until something else is heard it is held for a ttl, as it was told.
      if (entered !== undefined) holdings.set(entered.id, { from: entered.at, to: entered.id });
      if (released !== undefined) holdings.get(released.id)!.to = released.at;
      // Since when it was not relied on any more, its process does not say.
      if (lost !== undefined) holdings.delete(lost.id);
      if (stopped !== undefined) resolve(undefined);
    });
  });
  stopped.catch(() => {});
  return { process: child, holdings, stopped };
}

/** The most that are held at one moment. A place that is free at a moment may be taken at it. */
function mostAtOnce(holdings: readonly Holding[]): number {
  const edges = holdings.flatMap(({ from, to }) => [
    { at: from, change: 1 },
    { at: to, change: -1 },
  ]);
  edges.sort((one, other) => one.at - other.at || one.change - other.change);
  let [held, most] = [0, 0];
  for (const { change } of edges) {
    held += change;
    most = Math.max(most, held);
  }
  return most;
}

describe.each(['single', 'cluster'] as const)('%s', (shape) => {
  it('never above the limit while processes are killed, and every place comes back', { timeout: 240_000 }, async () => {
    const client = shape === 'cluster' ? 'ioredis cluster on redis' : 'ioredis client on redis';
    const connection = await TOPOLOGIES.find(({ title }) => title === client)!.connect(servers);
    const store = connection.store({ prefix: `permits ${shape}` }) as Store;
    const limiter = createLimiter({ policy: concurrency({ limit: LIMIT, ttl: TTL_MS }), store });
    const nodes = (shape === 'cluster' ? (await servers.cluster()).nodes : [await servers.single()]).map(
      ({ host, port }) => ({ host, port }),
    );
    const workers = await Promise.all(Array.from({ length: 8 }, startWorker));
    try {
      const task = { nodes, shape, key: 'gpu', prefix: `permits ${shape}`, limit: LIMIT, ttl: TTL_MS };
      for (const { process } of workers) process.send(task);
      const isBusy = (): boolean => workers.every(({ holdings }) => holdings.size >= 4);
      await expect.poll(isBusy, { timeout: 180_000, interval: 50 }).toBe(true);
      const dead = workers.slice(0, 3);
      for (const { process } of dead) process.kill('SIGKILL');
      const killedAt = Date.now() / 1e3;
      await Promise.all(dead.map(({ process }) => process.exitCode ?? process.signalCode ?? once(process, 'exit')));
      for (const { process } of workers.slice(3)) process.send('stop');
      await Promise.all(workers.slice(3).map(({ stopped }) => stopped));
      const held = workers.flatMap(({ holdings }) => [...holdings.values()]);
      expect(held.length).toBeGreaterThan(30);
      expect(mostAtOnce(held)).toBe(LIMIT);
      const { resetAt } = await limiter.peek('gpu', { cost: 0 });
      expect(resetAt).toBeLessThanOrEqual(Math.max(killedAt, resetAtOf(held)) + TTL_MS / 1e3 + 1);
      await expect
        .poll(async () => (await limiter.peek('gpu', { cost: 0 })).remaining, { timeout: 30_000 })
        .toBe(LIMIT);
    } finally {
      for (const { process } of workers) process.kill('SIGKILL');
      await connection.close();
    }
  });
});

describe('many permits of one key', () => {
  const connected = () => TOPOLOGIES.find(({ title }) => title === 'ioredis client on redis')!.connect(servers);

  it('are answered as in memory', { timeout: 120_000 }, async () => {
    const connection = await connected();
    const seed = testSeed();
    const makeStore = (clock: Clock) => connection.store({ clock, prefix: 'many permits' }) as Store;
    expect(await expectSamePermits(makeStore, seed, 2500)).toBeGreaterThan(200);
    await connection.close();
  });

  /** On the server's own clock those of one turn share a call. */
  it('are taken, kept and given back in calls that many share, each once', { timeout: 120_000 }, async () => {
    const connection = await connected();
    const store = connection.store({ prefix: 'shared calls' }) as Store;
    const limiter = createLimiter({ policy: concurrency({ limit: 1500, ttl: '1h' }), store });
    const random = randomFrom(5);
    const left = async (): Promise<number> => (await limiter.peek('k', { cost: 0 })).remaining;
    const enter = (count: number) =>
      Promise.all(Array.from({ length: count }, () => limiter.enter('k', { heartbeat: false })));
    let held = (await enter(2000)).filter(({ allowed }) => allowed);
    expect([held.length, await left()]).toEqual([1500, 0]);
    for (let wave = 0; wave < 6; wave += 1) {
      const kept = held.filter(() => random.real() < 0.2);
      expect(await Promise.all(kept.map((permit) => permit.extend()))).toEqual(kept.map(() => true));
      const going = held.filter(() => random.real() < 0.4);
      expect(await Promise.all(going.map((permit) => permit.release()))).toEqual(going.map(() => true));
      held = held.filter((permit) => !going.includes(permit));
      expect(await left()).toBe(1500 - held.length);
      held.push(...(await enter(300)).filter(({ allowed }) => allowed));
      expect(await left()).toBe(1500 - held.length);
    }
    const names = held.map(({ result }) => result.resetAt);
    expect(new Set(names).size).toBe(names.length);
    expect(await Promise.all(held.map((permit) => permit.release()))).toEqual(held.map(() => true));
    expect(await left()).toBe(1500);
    await connection.close();
  });
});

/** When the last of them was taken, in seconds. */
function resetAtOf(holdings: readonly Holding[]): number {
  return Math.max(...holdings.map(({ from }) => from)) / MICROS;
}
