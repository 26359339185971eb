/**
 * Three processes under traffic while their server is stopped, killed or made to forget its scripts: the short form of `npm run
 * faults`, with the same judge. Every attempt is timed and counted; what an answer took is compared with the deadline less what the
 * process itself was late by meanwhile, so that a slow machine is no failure, and a slow answer is one on every machine.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CLIENTS, runFault } from '../../../../faults/run.mjs';
import * as servers from '../../../../tools/servers/index.ts';

interface World {
  server: servers.RunningServer;
  startServer(port: number): Promise<servers.RunningServer>;
}

interface Fault {
  readonly name: string;
  readonly title: string;
  readonly through: 'nothing';
  readonly hurts?: boolean;
  readonly forgets?: boolean;
  strike(world: World): Promise<void>;
}

const STOPPED: Fault = {
  name: 'stop',
  title: 'SIGSTOP for 1.5 s',
  through: 'nothing',
  hurts: true,
  async strike({ server }) {
    process.kill(server.pid, 'SIGSTOP');
    await sleep(1500);
    process.kill(server.pid, 'SIGCONT');
  },
};

const KILLED: Fault = {
  name: 'kill',
  title: 'kill -9, and a new and empty server after half a second',
  through: 'nothing',
  hurts: true,
  forgets: true,
  async strike(world) {
    const { pid, port, process: running } = world.server;
    process.kill(pid, 'SIGKILL');
    await once(running, 'exit');
    await sleep(500);
    world.server = await world.startServer(port);
  },
};

let notKnown = 0;
const FLUSHED: Fault = {
  name: 'script-flush',
  title: 'SCRIPT FLUSH every few milliseconds for 1.5 s',
  through: 'nothing',
  async strike({ server }) {
    const until = performance.now() + 1500;
    while (performance.now() < until) await server.command('SCRIPT', 'FLUSH');
    const errors = String(await server.command('INFO', 'errorstats'));
    notKnown = Number(/errorstat_NOSCRIPT:count=(\d+)/.exec(errors)?.[1] ?? 0);
  },
};

/** Tests run beside each other, and the server is one of those that wait for their turn. */
const HASTE = { calmMs: 500, failedProbes: 3 };

const brokenIn = ({ promises }: { promises: { promise: string; broken?: unknown }[] }): string[] =>
  promises.flatMap(({ promise, broken }) => (broken === undefined ? [] : [`${promise}: ${broken}`]));

describe('three processes under traffic', () => {
  it('keep every promise while the server is stopped, and nothing is charged twice', async () => {
    const result = await runFault(STOPPED, servers, HASTE);
    expect(brokenIn(result)).toEqual([]);
    const { recoveries, rejected, spent, sources } = result.measured;
    expect(rejected).toBe(0);
    expect(sources.fallback).toBeGreaterThan(0);
    // The connections have survived, so what nobody waited for any more is charged late, and once. On a busy machine a client may
    // drop some that it had not written yet when it gave up: those are not charged at all.
    expect(spent.counted).toBeGreaterThan(spent.answered);
    expect(spent.counted).toBeLessThanOrEqual(spent.sent);
    expect(recoveries.map((recovery: object | undefined) => recovery !== undefined)).toEqual(CLIENTS.map(() => true));
  });

  it('keep every promise while the server is killed, and find the new one', async () => {
    const result = await runFault(KILLED, servers, HASTE);
    expect(brokenIn(result)).toEqual([]);
    const { rejected, sources, recoveryMs } = result.measured;
    expect(rejected).toBe(0);
    expect(sources.fallback).toBeGreaterThan(0);
    expect(recoveryMs).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  it('keep every promise while the server forgets its scripts, and each attempt is charged exactly once', async () => {
    const result = await runFault(FLUSHED, servers, HASTE);
    expect(brokenIn(result)).toEqual([]);
    expect(notKnown).toBeGreaterThan(0);
    const { rejected, spent } = result.measured;
    expect(rejected).toBe(0);
    expect(spent.counted).toBe(spent.sent);
  });
});
