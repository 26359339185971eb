/**
 * Limits in two units: requests and tokens of a language model. Each request is one attempt under both policies, with a cost for each: it spends from
 * both or from neither. The rows are three set-ups of one algorithm, so that the units are what differs.
 */
import { tokenBucket } from 'sluice';
import { count, perWords } from '../../words/words.ts';
import { numbersOf } from '../kind.ts';
import { genericKind } from '../kinds/generic.ts';
import type { SharedLimit } from '../limit.ts';
import type { Charge, Row } from '../row.ts';
import { choicesOf, inOrder, ONE_CLIENT, type Plan, series } from './story.ts';

const WINDOW = 60_000;
const [REQUESTS, TOKENS] = [10, 10_000];
const LIMIT: SharedLimit = { units: TOKENS, window: WINDOW, burst: TOKENS };

const requests = tokenBucket({ name: 'requests', capacity: REQUESTS, refillRate: `${REQUESTS}/m` });
const tokens = tokenBucket({ name: 'tokens', capacity: TOKENS, refillRate: `${TOKENS}/m` });

const kind = genericKind({
  algorithm: 'token-bucket',
  factory: 'tokenBucket',
  fields: { capacity: { kind: 'count' }, refillRate: { kind: 'rate' } },
});

function setUp(id: string, title: string, note: string, charges: readonly Charge[]): Row {
  const policy = charges.at(-1)!.policy;
  const parts = charges.map(({ of }) => (of === 'units' ? TOKEN_PART : REQUEST_PART));
  const limit = charges.length === 1 && charges[0]!.of === 'request' ? REQUESTS : TOKENS;
  return {
    ...{ id, kind, title, short: title, note, charges, parts: charges.length > 1 ? parts : [] },
    draft: {},
    deviates: false,
    numbers: numbersOf(policy),
    summary: note,
    capacity: limit,
    policies: charges.length,
    clockWindow: Number.POSITIVE_INFINITY,
    window: WINDOW,
    meant: { units: TOKENS, window: WINDOW },
  };
}

const REQUEST_PART = { title: 'requests', limit: REQUESTS };
const TOKEN_PART = { title: 'tokens', limit: TOKENS };

const ROWS: readonly Row[] = [
  setUp('requests-only', 'Requests only', `${REQUESTS} requests per ${perWords(WINDOW)}`, [
    { policy: requests, of: 'request' },
  ]),
  setUp('tokens-only', 'Tokens only', `${count(TOKENS)} tokens per ${perWords(WINDOW)}`, [
    { policy: tokens, of: 'units' },
  ]),
  setUp('both', 'Both, in one attempt', 'spends from both, or from neither', [
    { policy: requests, of: 'request' },
    { policy: tokens, of: 'units' },
  ]),
];

export const modelTokens: Plan = {
  id: 'model-tokens',
  title: 'Model tokens',
  description:
    'A language model API has two limits: requests per minute and tokens per minute. One alone does not hold the other.',
  make() {
    const [large, small] = [3_000, 50];
    const script = inOrder(series(4_000, 6, 1_500, 0, large), series(22_000, 16, 600, 0, small));
    return {
      id: 'model-tokens',
      title: 'Model tokens',
      about: `A model API allows ${REQUESTS} requests and ${count(TOKENS)} tokens a minute. First come 6 long prompts of ${count(large)} tokens, then 16 short ones of ${small}.`,
      limit: LIMIT,
      clients: ONE_CLIENT,
      rows: ROWS,
      start: 0,
      end: 33_000,
      script,
      beats: [
        { at: 0, pace: 0.6 },
        {
          at: 3_000,
          row: 'requests-only',
          ask: {
            text: `6 prompts of ${count(large)} tokens are coming, ${count(6 * large)} in all. How many does a limit of ${REQUESTS} requests allow?`,
            choices: choicesOf(3, 6),
            answer: (facts) => String(facts.allowed('requests-only')),
          },
          pace: 0.5,
        },
        {
          at: 13_500,
          row: 'requests-only',
          holds: true,
          tells: true,
          caption: (facts) =>
            `All ${facts.allowed('requests-only')}: ${count(facts.worst('requests-only'))} tokens in a minute where ${count(TOKENS)} were meant. A limit on requests does not hold tokens.`,
        },
        {
          at: 31_800,
          row: 'both',
          holds: true,
          caption: (facts) =>
            `The short prompts are cheap, so the limit on tokens alone allowed ${facts.allowed('tokens-only')} requests. With both, ${facts.allowed('both')}: whichever is used up first denies, and a denial spends nothing.`,
        },
      ],
      point: (facts) =>
        `Requests only: ${count(facts.worst('requests-only'))} tokens in a minute. Tokens only: ${facts.allowed('tokens-only')} requests. Both in one attempt keep both: ${facts.allowed('both')} requests, ${count(facts.worst('both'))} tokens.`,
    };
  },
};
