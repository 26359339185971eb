/** Whatever is answered: an algorithm that the library takes, reasons that are true, code that means the same, and an address that opens it in the lab. */
import { createLimiter, manualClock, memoryStore } from 'sluice';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../server/src/config/read-config.ts';
import { readRoute } from '../src/app/route.ts';
import { labAddress, readChosen, writeChosen } from '../src/chooser/chooser-address.ts';
import { codeFiles } from '../src/code/code.ts';
import { measuredOf } from '../src/model/choose/measured.ts';
import { type Answers, askedQuestions, QUESTIONS, withAnswer } from '../src/model/choose/questions.ts';
import { recommend, usualBurst } from '../src/model/choose/recommend.ts';
import { worstCase } from '../src/model/choose/worst-case.ts';
import { KINDS, kindOf } from '../src/model/kinds/index.ts';
import type { SharedLimit } from '../src/model/limit.ts';
import { readSetup } from '../src/setup/address.ts';
import { rowsOf } from '../src/setup/setup.ts';

const LIMIT: SharedLimit = { units: 100, window: 60_000, burst: 20 };
const LIMITS: readonly SharedLimit[] = [
  LIMIT,
  { units: 1, window: 86_400_000, burst: 1 },
  { units: 1_000_000, window: 1_000, burst: 50 },
  { units: 30, window: 3_600_000, burst: 100 },
];

/** Every set of answers that can be given, none of them included. */
function allAnswers(given: Answers = {}, from = 0): Answers[] {
  const question = QUESTIONS[from];
  if (question === undefined) return [given];
  const rest = allAnswers(given, from + 1);
  if (!askedQuestions(given).some(({ id }) => id === question.id)) return rest;
  return [
    ...rest,
    ...question.options.flatMap(({ value }) => allAnswers(withAnswer(given, question.id, value), from + 1)),
  ];
}

const ANSWERS = allAnswers();

test('without any answer there is a good default', () => {
  const { row, isShared } = recommend({}, LIMIT);
  expect([row.id, isShared]).toEqual(['sliding-window-counter', false]);
});

test.each<[Answers, string]>([
  [{ protects: 'backend', servers: 'one' }, 'leaky-bucket-shaping'],
  [{ bursts: 'yes' }, 'token-bucket'],
  [{ bursts: 'yes', clients: 'many', servers: 'many' }, 'gcra'],
  [{ bursts: 'no', exactness: 'exact', clients: 'many' }, 'sliding-window-log'],
  [{ exactness: 'close', servers: 'many' }, 'sliding-window-counter'],
  [{ exactness: 'calendar' }, 'fixed-window'],
])('%j leads to %s', (answers, id) => {
  expect(recommend(answers, LIMIT).row.id).toBe(id);
});

describe.each(ANSWERS)('%j', (answers) => {
  test('has reasons, a runner-up, an address, and code of the same numbers', () => {
    for (const limit of LIMITS) {
      const { row, reasons, runnerUp, isShared } = recommend(answers, limit);
      expect(reasons.length).toBeGreaterThan(2);
      expect(runnerUp.id).not.toBe(row.id);
      const route = readRoute(labAddress(row.id, limit));
      const setup = readSetup(route.parameters);
      expect([setup.limit, route.parameters.get('row')]).toEqual([limit, row.id]);
      for (const one of rowsOf(setup)) expect(one.deviates).toBe(false);
      const store = isShared ? 'node-redis' : 'memory';
      const [yaml] = codeFiles(row, { framework: 'service', store, key: 'ip' });
      const { config, problems } = readConfig(yaml!.text);
      expect(problems).toEqual([]);
      const { name: _, ...numbers } = row.charges[0]!.policy;
      expect(config!.policies.get(row.id)!.policy).toMatchObject(numbers);
      const [, server] = codeFiles(row, { framework: 'express', store, key: 'ip' });
      expect(server!.text.includes('store: redisStore(client)')).toBe(isShared);
    }
  });

  test('are in the address, and come back out of it', () => {
    for (const limit of LIMITS) {
      const chosen = { answers, limit };
      expect(readChosen(readRoute(writeChosen(chosen)).parameters)).toEqual(chosen);
    }
  });
});

test('nonsense in the address is as if nothing was answered', () => {
  expect(readChosen(new URLSearchParams('protects=moon&bursts=perhaps&limit=0/never'))).toMatchObject({ answers: {} });
  // What does not matter after another answer is not kept.
  expect(readChosen(new URLSearchParams('protects=backend&bursts=yes')).answers).toEqual({ protects: 'backend' });
});

test('a burst is asked for, and a day is not spent at one moment', () => {
  for (const clients of ['some', 'many']) {
    const limit = { units: 10_000, window: 86_400_000, burst: usualBurst(10_000) };
    expect(recommend({ bursts: 'yes', clients }, limit).row.numbers).toMatchObject({ capacity: 2_000 });
  }
  expect([1, 4, 5, 100].map(usualBurst)).toEqual([1, 1, 1, 20]);
});

test('a fragile backend is promised what its code does: one key for all, and a wait', async () => {
  const { row, reasons } = recommend({ protects: 'backend' }, LIMIT);
  const text = (framework: 'express' | 'library' | 'service') =>
    codeFiles(row, { framework, store: 'memory', key: 'ip' })
      .map((file) => file.text)
      .join('');
  expect(text('express')).toContain("key: () => 'backend'");
  expect(text('library')).toContain("await limiter.acquire('backend');");
  expect(text('service')).toContain('  - key: everyone\n');
  expect(reasons[0]).toContain('one request every 0.6 s, however many clients send: all callers share one key');
  // A thousand users with one request each, under that one key: none goes at the same moment as another.
  const clock = manualClock(0);
  const limiter = createLimiter({ policy: row.charges[0]!.policy, store: memoryStore({ clock }) });
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => limiter.attempt('backend')));
  const slots = answers.filter(({ allowed }) => allowed).map(({ delay }) => Math.round((delay ?? 0) * 1000));
  expect(slots).toEqual(Array.from({ length: 20 }, (_, index) => index * 600));
});

test('the log is not said to be the only one that holds in any window, as the table shows another', () => {
  const [promise] = recommend({ exactness: 'exact' }, LIMIT).reasons;
  expect(promise).toContain('Of the others only shaping keeps that promise');
  const keepers = KINDS.filter(({ id }) => measuredOf(id)!.worst === measuredOf(id)!.limit);
  expect(keepers.map(({ id }) => id)).toEqual(['sliding-window-log', 'leaky-bucket-shaping']);
});

test('the worst cases that are shown are those of the table, for the limit of the table', async () => {
  const limit = { units: 100, window: 60_000, burst: 100 };
  for (const kind of KINDS) {
    const { atEdge, steady, atOnce } = await worstCase(kind, limit);
    const measured = measuredOf(kind.id)!;
    expect([kind.id, atEdge, atOnce]).toEqual([kind.id, measured.boundary / 100, measured.atOnce / 100]);
    expect(Math.max(atEdge, steady)).toBeGreaterThan(measured.worst / 100 - 0.15);
  }
  const bucket = await worstCase(kindOf('token-bucket')!, { units: 1_000_000, window: 1_000, burst: 200_000 });
  expect(bucket.atOnce).toBeCloseTo(0.2, 2);
});
