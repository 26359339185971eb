/** Silence is an outage, slowness is not: on a clock and timers that move when the test says so. */
import { describe, expect, test } from 'vitest';
import { manualClock, SluiceError } from '../../src/index.ts';
import { RedisHealth } from '../../src/redis/run-script.ts';
import type { HealthChange } from '../../src/store/health.ts';

interface Command {
  readonly words: readonly string[];
  readonly key: string;
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/** A server that answers when it is told to. */
function world(options: Partial<ConstructorParameters<typeof RedisHealth>[1]> = {}) {
  const clock = manualClock(0);
  const commands: Command[] = [];
  const timers: { at: number; wake(): void }[] = [];
  const changes: HealthChange[] = [];
  const health = new RedisHealth(
    (words, key) => new Promise((resolve, reject) => commands.push({ words, key, resolve, reject })),
    {
      silenceMs: 250,
      deadlineMs: 2000,
      failures: 5,
      retryMs: 500,
      clock,
      wakeAfter: (ms, wake) => timers.push({ at: clock.now() + ms, wake }),
      isConnecting: () => false,
      nodeOf: () => '',
      onChange: (change) => changes.push(change),
      ...options,
    },
  );
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };
  return {
    clock,
    commands,
    changes,
    health,
    settle,
    /** Lets time pass in small steps, each timer ringing when it is due. */
    async pass(ms: number): Promise<void> {
      for (const end = clock.now() + ms; clock.now() < end; ) {
        clock.advance(Math.min(1, end - clock.now()));
        for (const timer of timers.filter(({ at }) => at <= clock.now())) {
          timers.splice(timers.indexOf(timer), 1);
          timer.wake();
        }
        await settle();
      }
    },
    /** This process stands still: all timers ring late. */
    async standStill(ms: number): Promise<void> {
      clock.advance(ms);
      for (const { wake } of timers.splice(0)) wake();
      await settle();
    },
  };
}

/** What became of a promise by now. */
function watched(promise: Promise<unknown>): { state: string } {
  const seen = { state: 'waits' };
  promise.then(
    () => {
      seen.state = 'answered';
    },
    (error: SluiceError) => {
      seen.state = error.code ?? String(error);
    },
  );
  return seen;
}

describe('away', () => {
  test('when nothing has come for the silence, and not before', async () => {
    const { health, pass, changes } = world();
    const command = watched(health.send(['EVALSHA'], 'a'));
    await pass(245);
    expect(command.state).toBe('waits');
    await pass(15);
    expect(command.state).toBe('SLUICE_TIMEOUT');
    expect(changes).toMatchObject([{ isAway: true }]);
  });

  test('not as long as replies come, in whatever order and however late', async () => {
    const { health, pass, commands, changes } = world();
    const all = Array.from({ length: 20 }, () => watched(health.send(['EVALSHA'], 'a')));
    for (let reply = 19; reply > 0; reply -= 1) {
      await pass(90);
      commands[reply]!.resolve('ok');
    }
    await pass(1);
    expect(all.map(({ state }) => state)).toEqual(['waits', ...Array(19).fill('answered')]);
    expect(changes).toEqual([]);
  });

  test('an error that the server replies is a sign of life', async () => {
    const { health, pass, commands, changes } = world();
    const slow = watched(health.send(['EVALSHA'], 'a'));
    for (let errors = 0; errors < 4; errors += 1) {
      const failing = watched(health.send(['EVALSHA'], 'a'));
      await pass(200);
      commands.at(-1)!.reject(new Error('LOADING Redis is loading the dataset in memory'));
      await pass(1);
      expect(failing.state).toContain('LOADING');
    }
    expect(slow.state).toBe('waits');
    expect(changes).toEqual([]);
  });

  test('not while this process stood still: what it missed does not count', async () => {
    const { health, pass, standStill, commands, changes } = world();
    const command = watched(health.send(['EVALSHA'], 'a'));
    await standStill(5000);
    await pass(100);
    expect(command.state).toBe('waits');
    commands[0]!.resolve('ok');
    await pass(1);
    expect(command.state).toBe('answered');
    expect(changes).toEqual([]);
  });

  test('not while the client connects for the first time, up to the hard bound', async () => {
    let isConnecting = true;
    const { health, pass } = world({ isConnecting: () => isConnecting });
    const early = watched(health.send(['EVALSHA'], 'a'));
    await pass(1900);
    expect(early.state).toBe('waits');
    await pass(150);
    expect(early.state).toBe('SLUICE_TIMEOUT');
    isConnecting = false;
    const later = watched(health.send(['EVALSHA'], 'a'));
    await pass(300);
    expect(later.state).toBe('SLUICE_TIMEOUT');
  });

  test('after so many commands in a row that failed, each counted once', async () => {
    const { health, settle, commands, changes } = world();
    for (let failures = 1; failures <= 5; failures += 1) {
      const command = watched(health.send(['EVALSHA'], 'a'));
      commands.at(-1)!.reject(new Error('Connection is closed.'));
      await settle();
      expect(command.state).toContain('Connection is closed');
      expect(changes).toHaveLength(failures < 5 ? 0 : 1);
    }
    await expect(health.send(['EVALSHA'], 'a')).rejects.toMatchObject({ code: 'SLUICE_CIRCUIT_OPEN' });
  });

  test('a success in between starts the count again', async () => {
    const { health, settle, commands, changes } = world();
    for (let failures = 1; failures <= 12; failures += 1) {
      watched(health.send(['EVALSHA'], 'a'));
      if (failures % 4 === 0) commands.at(-1)!.resolve('ok');
      else commands.at(-1)!.reject(new Error('BUSY'));
      await settle();
    }
    expect(changes).toEqual([]);
  });

  test('NOSCRIPT is no failure', async () => {
    const { health, settle, commands, changes } = world();
    for (let times = 0; times < 20; times += 1) {
      watched(health.send(['EVALSHA'], 'a'));
      commands.at(-1)!.reject(new Error('NOSCRIPT No matching script.'));
      await settle();
    }
    expect(changes).toEqual([]);
  });

  test('a client that cannot connect is not waited for', async () => {
    const { health, settle } = world();
    const command = watched(health.send(['EVALSHA'], 'a'));
    health.clientFailed(new Error('connect ECONNREFUSED 127.0.0.1:6379'));
    await settle();
    expect(command.state).toBe('SLUICE_CIRCUIT_OPEN');
  });
});

describe('while it is away', () => {
  async function away() {
    const it = world();
    const command = watched(it.health.send(['EVALSHA'], 'a'));
    await it.pass(300);
    expect(command.state).toBe('SLUICE_TIMEOUT');
    it.commands.length = 0;
    return it;
  }

  test('nothing is waited for, and one probe at a time is sent in the background', async () => {
    const { health, settle, commands, pass } = await away();
    for (let times = 0; times < 50; times += 1) {
      const command = watched(health.send(['EVALSHA'], 'a'));
      await settle();
      expect(command.state).toBe('SLUICE_TIMEOUT');
    }
    expect(commands).toHaveLength(1);
    await pass(3000);
    watched(health.send(['EVALSHA'], 'a'));
    expect(commands, 'one that is under way').toHaveLength(1);
    await pass(3000);
    watched(health.send(['EVALSHA'], 'a'));
    expect(commands, 'one that is lost for good').toHaveLength(2);
  });

  test('a probe that is answered in time ends it', async () => {
    const { health, settle, commands, changes } = await away();
    watched(health.send(['EVALSHA'], 'a'));
    expect(commands[0]!.words[0]).toBe('EVAL');
    expect(commands[0]!.key).toBe('a~');
    commands[0]!.resolve('OK');
    await settle();
    expect(changes).toMatchObject([{ isAway: true }, { isAway: false }]);
    const command = watched(health.send(['EVALSHA'], 'a'));
    commands.at(-1)!.resolve('ok');
    await settle();
    expect(command.state).toBe('answered');
  });

  test('a probe that waited for a connection is followed by one that tells how good it is', async () => {
    const { health, settle, commands, changes, pass } = await away();
    watched(health.send(['EVALSHA'], 'a'));
    await pass(2000);
    commands[0]!.resolve('OK');
    await settle();
    expect(changes).toHaveLength(1);
    expect(commands).toHaveLength(2);
    commands[1]!.resolve('OK');
    await settle();
    expect(changes).toHaveLength(2);
  });

  test('a probe that fails is followed by another, not too soon', async () => {
    const { health, settle, commands, pass } = await away();
    watched(health.send(['EVALSHA'], 'a'));
    commands[0]!.reject(new Error('READONLY You can not write against a read only replica.'));
    await settle();
    watched(health.send(['EVALSHA'], 'a'));
    expect(commands).toHaveLength(1);
    await pass(500);
    watched(health.send(['EVALSHA'], 'a'));
    expect(commands).toHaveLength(2);
  });

  test('a late reply to what was given up changes nothing', async () => {
    const { health, pass, commands, changes } = world();
    const command = watched(health.send(['EVALSHA'], 'a'));
    await pass(300);
    commands[0]!.resolve('late');
    await pass(10);
    expect(command.state).toBe('SLUICE_TIMEOUT');
    expect(changes).toHaveLength(1);
  });
});

describe('a server of a cluster', () => {
  test('takes only its own keys with it', async () => {
    const { health, pass, commands, changes } = world({ nodeOf: (key) => key });
    const gone = watched(health.send(['EVALSHA'], 'one'));
    for (let times = 0; times < 4; times += 1) {
      const fine = watched(health.send(['EVALSHA'], 'two'));
      await pass(100);
      commands.at(-1)!.resolve('ok');
      await pass(1);
      expect(fine.state).toBe('answered');
    }
    expect(gone.state).toBe('SLUICE_TIMEOUT');
    expect(changes).toMatchObject([{ isAway: true, node: 'one' }]);
    expect(health.isWell).toBe(false);
  });
});

describe('what no waiting mends', () => {
  test.each([
    ['WRONGPASS invalid username-password pair or user is disabled.', /password of the client/],
    ['NOAUTH Authentication required.', /give it to the client/],
    ["NOPERM this user has no permissions to run the 'evalsha' command", /\+evalsha/],
    ["ERR unknown command 'evalsha', with args beginning with: ", /does not run Lua scripts/],
    ['READONLY You can not write against a read only replica.', /connect it to the primary/],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', /`prefix` of its own/],
  ])('%s', async (message, cure) => {
    const { health, settle, commands, changes } = world();
    for (let times = 0; times < 10; times += 1) {
      const error = health.send(['EVALSHA'], 'a').catch((reason: unknown) => reason);
      commands.at(-1)!.reject(new Error(message));
      await settle();
      expect(await error).toBeInstanceOf(SluiceError);
      expect(await error).toMatchObject({ code: 'SLUICE_STORE_REFUSES', kind: 'mistake' });
      expect(((await error) as Error).message).toMatch(cure);
    }
    expect(changes, 'it is no outage').toEqual([]);
  });

  test('a server that was written to is a replica for a while in a failover: that is an outage', async () => {
    const { health, settle, commands, changes } = world();
    watched(health.send(['EVALSHA'], 'a'));
    commands[0]!.resolve('ok');
    await settle();
    for (let times = 0; times < 5; times += 1) {
      watched(health.send(['EVALSHA'], 'a'));
      commands.at(-1)!.reject(new Error('READONLY You can not write against a read only replica.'));
      await settle();
    }
    expect(changes).toMatchObject([{ isAway: true }]);
  });
});
