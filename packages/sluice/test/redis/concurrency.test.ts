/**
 * The bound holds for any number of processes: eight of them, over three client packages, spend from one key on the server's own
 * clock. What they admit together is an exact number where nothing comes back, and everywhere every single answer is the one
 * that a single process would have given at that moment: sorted by the server's time, they replay in memory to the last digit.
 */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../../tools/servers/index.ts';
import { manualClock, memoryStore, type Policy } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { attemptOf } from '../../src/model/store.ts';
import { seenOf, type Verdict } from '../support/asking.ts';
import { KINDS, type Kind, policyOf } from '../support/random.ts';
import { clockBound } from './support/clock-bound.ts';
import { type Answer, type Processes, startProcesses, type Task } from './support/processes.ts';
import { slowPolicies } from './support/slow-policies.ts';
import { SERVER_KINDS, serversOf } from './support/topologies.ts';

const PROCESSES = 8;
const IN_FLIGHT = 10;
const LIMIT = 100;

const ONES = Array.from({ length: 40 }, () => 1);
/** Whatever is left after the large ones have been refused, the ones take: so the sum is exact here too. */
const MIXED = [...Array.from({ length: 20 }, (_, index) => [1, 2, 3, 5, 8][index % 5]!), ...ONES];

let keys = 0;
const newTask = (policies: readonly Policy[], costs: readonly number[]): Task => {
  keys += 1;
  return { key: `key ${keys}`, prefix: `concurrency ${keys}`, policies, costs, inFlight: IN_FLIGHT };
};

const isAllowed = ({ verdicts }: Answer): boolean => verdicts.every(({ allowed }) => allowed);
const admittedBy = (answers: readonly Answer[]): number =>
  answers.reduce((sum, answer) => sum + (isAllowed(answer) ? answer.cost : 0), 0);

const numbersOf = ({ allowed, remaining, retryAfter, resetAfter, delay }: Verdict): Verdict => ({
  allowed,
  remaining,
  retryAfter,
  resetAfter,
  delay,
});

/** In the order in which the server decided. Attempts of one process that went out in one call share a time, and stay in order. */
function inOrder(answers: readonly Answer[]): Answer[] {
  return [...answers].sort((one, other) => one.now - other.now);
}

/** Every answer must be what a single process would have been told, had it asked all the questions in the server's order. */
function expectOneHistory({ policies, costs, lastsMicros }: Task, answers: readonly Answer[]): void {
  if (lastsMicros === undefined) expect(answers).toHaveLength(PROCESSES * costs.length);
  const ordered = inOrder(answers);
  const clock = manualClock();
  const alone = memoryStore({ clock });
  for (const [index, { now, cost, verdicts, process }] of ordered.entries()) {
    // The server needs many microseconds for a call: two calls at the same one would make the order a guess.
    const before = ordered[index - 1];
    if (before?.now === now) expect(before.process, 'two processes were answered at the same time').toBe(process);
    clock.set(now / 1000);
    const expected = seenOf(alone.ask(attemptOf(policies.map((policy) => ({ key: 'key', policy, cost })))));
    const told = expected.verdicts.map(numbersOf);
    // There are many thousands, and an expectation that holds costs as much as one that does not.
    if (isDeepStrictEqual(verdicts, told)) continue;
    expect(verdicts, `answer ${index} of ${ordered.length}, at ${now}`).toEqual(told);
  }
}

/** A hundred units at once, and a thousand a second: so capacity comes back while the processes spend. */
const QUICK: Readonly<Record<Kind, Policy>> = Object.fromEntries(
  KINDS.map((kind) => [kind, policyOf(kind, { limit: LIMIT, window: 100, capacity: LIMIT, rate: 1000 }, kind)]),
);
/** A calendar gives nothing back in the moments of a test. */
const RETURNING = KINDS.filter((name) => ruleOf(QUICK[name]!).recovery < 60e6);

/** More than twice the time in which all of it has come back. */
const newQuickTask = (policies: readonly Policy[]): Task => ({
  ...newTask(policies, [1, 2, 1, 3]),
  lastsMicros: 250_000,
});

const SLOW = slowPolicies(LIMIT);
const TIGHT = 37;

let processes: Processes;
beforeAll(async () => {
  processes = await startProcesses(PROCESSES);
});
afterAll(() => processes?.stop());

describe.each(SERVER_KINDS)('%s', (kind) => {
  const servers = serversOf(kind);
  afterAll(() => servers.stop());

  describe.each(['single', 'cluster'] as const)('eight processes on a %s server', (shape) => {
    let nodes: readonly RunningServer[];
    let hammer: (task: Task) => Promise<Answer[]>;

    beforeAll(async () => {
      nodes = shape === 'single' ? [await servers.single()] : (await servers.cluster()).nodes;
      hammer = await processes.connect(shape, nodes);
    });

    it.each(KINDS)('%s: admit exactly the limit', async (name) => {
      const task = newTask([SLOW[name]!], ONES);
      const answers = await hammer(task);
      expect(admittedBy(answers)).toBe(LIMIT);
      expectOneHistory(task, answers);
    });

    it.each(KINDS)('%s: admit exactly the limit, with costs of all sizes', async (name) => {
      const task = newTask([SLOW[name]!], MIXED);
      const answers = await hammer(task);
      expect(admittedBy(answers)).toBe(LIMIT);
      expectOneHistory(task, answers);
    });

    it.each(KINDS)(
      '%s is the tightest of eight: it decides, and each of the others is spent exactly as much',
      async (name) => {
        const policies = Object.values({ ...SLOW, [name]: slowPolicies(TIGHT)[name]! });
        const task = newTask(policies, MIXED);
        const answers = await hammer(task);
        expect(admittedBy(answers)).toBe(TIGHT);
        expectOneHistory(task, answers);
        const last = inOrder(answers).at(-1)!;
        const left = policies.map((policy, index) => [policy.name, last.verdicts[index]!.remaining]);
        expect(left).toEqual(policies.map((policy) => [policy.name, policy.name === name ? 0 : LIMIT - TIGHT]));
      },
    );

    it.each(RETURNING)('%s: while capacity comes back they admit no more than the bound', async (name) => {
      const task = newQuickTask([QUICK[name]!]);
      const started = await earliestTime(nodes);
      const answers = await hammer(task);
      const ended = await latestTime(nodes);
      const bound = clockBound(QUICK[name]!);
      bound.most(started, true);
      expect(admittedBy(answers)).toBeLessThanOrEqual(bound.most(ended, true));
      expect(admittedBy(answers), 'nothing came back: this tests nothing').toBeGreaterThan(LIMIT);
      expectOneHistory(task, answers);
    });

    it('all eight at once, while capacity comes back', async () => {
      const task = newQuickTask(RETURNING.map((name) => QUICK[name]!));
      const answers = await hammer(task);
      expect(admittedBy(answers)).toBeGreaterThan(LIMIT);
      expectOneHistory(task, answers);
    });
  });
});

const timesOf = (nodes: readonly RunningServer[]): Promise<number[]> =>
  Promise.all(
    nodes.map(async (node) => {
      const [seconds, micros] = (await node.command('TIME')) as [string, string];
      return Number(seconds) * 1e6 + Number(micros);
    }),
  );
const earliestTime = async (nodes: readonly RunningServer[]): Promise<number> => Math.min(...(await timesOf(nodes)));
const latestTime = async (nodes: readonly RunningServer[]): Promise<number> => Math.max(...(await timesOf(nodes)));

describe('the replay can fail', () => {
  const policy = SLOW['token-bucket']!;
  const answer = (now: number, remaining: number): Answer => {
    const clock = manualClock(now / 1000);
    const store = memoryStore({ clock });
    const { verdicts } = seenOf(store.ask(attemptOf([{ key: 'key', policy, cost: LIMIT - remaining }])));
    return { process: 0, now, cost: 1, verdicts: verdicts.map(numbersOf) };
  };
  const task = newTask([policy], [1]);
  const truthful = Array.from({ length: PROCESSES }, (_, index) => {
    const clock = manualClock(1e12);
    const store = memoryStore({ clock });
    let verdicts: readonly Verdict[] = [];
    for (let i = 0; i <= index; i += 1) {
      clock.set(1e12 + i);
      ({ verdicts } = seenOf(store.ask(attemptOf([{ key: 'key', policy, cost: 1 }]))));
    }
    return { process: index, now: (1e12 + index) * 1000, cost: 1, verdicts: verdicts.map(numbersOf) };
  });

  it('and does not when the history is true', () => expectOneHistory(task, truthful));

  it('when two processes were told the same', () => {
    const lie = [...truthful.slice(0, -1), answer((1e12 + PROCESSES) * 1000, LIMIT - 1)];
    expect(() => expectOneHistory(task, lie)).toThrow(/answer 7/);
  });

  it('when an answer is missing', () => {
    expect(() => expectOneHistory(task, truthful.slice(1))).toThrow(/length/);
  });
});
