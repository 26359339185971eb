/** Wherever the questions lead: a policy that the library takes, code that means the same, and an address that opens it in the lab. */
import { expect, test } from 'vitest';
import { readConfig } from '../../server/src/config/read-config.ts';
import { readRoute } from '../src/app/route.ts';
import { policyOf } from '../src/cards/catalog.ts';
import { policyCode } from '../src/chooser/policy-code.ts';
import { type Answers, askedQuestions, isComplete, QUESTIONS, withAnswer } from '../src/chooser/questions.ts';
import { type Amount, recommend, type Span } from '../src/chooser/recommend.ts';
import { labAddress, readSetup } from '../src/share/share.ts';

/** Every way through the questions. */
function allPaths(answers: Answers = {}): Answers[] {
  if (isComplete(answers)) return [answers];
  const open = askedQuestions(answers).at(-1)!;
  return open.options.flatMap(({ value }) => allPaths(withAnswer(answers, open.id, value)));
}

const PATHS = allPaths();
const AMOUNTS: readonly Amount[] = [
  { units: 100, per: 'm' },
  { units: 1, per: 'd' },
  { units: 1_000_000, per: 's' },
  ...(['s', 'h'] satisfies Span[]).map((per) => ({ units: 30, per })),
];

test('every answer of every question leads somewhere', () => {
  expect(PATHS).toHaveLength(14);
  for (const { id, options } of QUESTIONS) {
    for (const { value } of options) expect(PATHS.some((answers) => answers[id] === value)).toBe(true);
  }
});

test.each([
  [{ behind: 'fragile', servers: 'one' }, 'leaky-bucket-shaping'],
  [{ behind: 'sturdy', bursts: 'welcome', memory: 'some', servers: 'one' }, 'token-bucket'],
  [{ behind: 'sturdy', bursts: 'welcome', memory: 'many', servers: 'many' }, 'gcra'],
  [{ behind: 'sturdy', bursts: 'unwelcome', exactness: 'exact', memory: 'many', servers: 'one' }, 'sliding-window-log'],
  [{ behind: 'sturdy', bursts: 'unwelcome', exactness: 'close', servers: 'many' }, 'sliding-window-counter'],
  [{ behind: 'sturdy', bursts: 'unwelcome', exactness: 'calendar', servers: 'many' }, 'fixed-window'],
] as [Answers, string][])('%j leads to %s', (answers, card) => {
  expect(recommend(answers, AMOUNTS[0]!).card).toBe(card);
});

test.each(PATHS)('%j', (answers) => {
  for (const amount of AMOUNTS) {
    const recommendation = recommend(answers, amount);
    const { card, policy, draft, reasons, isShared } = recommendation;
    expect(reasons.length).toBeGreaterThan(2);
    const { drafts } = readSetup(readRoute(labAddress(card, draft)).parameters);
    const { name: _, ...numbers } = policy;
    expect(policyOf(card, drafts[card])).toMatchObject(numbers);
    const { config, problems } = readConfig(policyCode('YAML', recommendation));
    expect(problems).toEqual([]);
    expect(config!.policies.get(card)!.policy).toMatchObject(numbers);
    const code = policyCode('TypeScript', recommendation);
    if ('refillRate' in draft) expect(code).toContain(`refillRate: '${amount.units}/${amount.per}'`);
    expect(code.includes('store: redisStore(client)')).toBe(isShared);
    expect(code.includes("from 'sluice/node-redis'")).toBe(isShared);
  }
});
