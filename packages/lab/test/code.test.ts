/** A card as code is code that works: the TypeScript runs, the YAML is a config the server takes, the curl is a body it answers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as library from 'sluice';
import { describe, expect, test } from 'vitest';
import { sluice } from '../../server/test/processes.ts';
import {
  CARD_IDS,
  type CardId,
  type Draft,
  INITIAL_DRAFTS,
  policyOf,
  problemOf,
  summaryOf,
} from '../src/cards/catalog.ts';
import { codeOf } from '../src/config/code.ts';

const OTHER: Partial<Record<CardId, Draft>> = {
  'fixed-window': { limit: '5', window: '250ms', align: 'first' },
  'token-bucket': { capacity: '3', refillRate: '100/m' },
  'leaky-bucket-policing': { capacity: '5', leakRate: '0.0375' },
  'leaky-bucket-shaping': { capacity: '5', leakRate: '7/d' },
  gcra: { limit: '60', period: '1h', capacity: '3' },
};
const CASES = CARD_IDS.flatMap((id) =>
  [INITIAL_DRAFTS[id], ...(OTHER[id] ? [OTHER[id]] : [])].map((draft) => ({ id, draft })),
);

describe.each(CASES)('$id with $draft', ({ id, draft }) => {
  const policy = policyOf(id, draft);

  test('as TypeScript makes that policy', async () => {
    const code = codeOf('TypeScript', id, policy, 2, '');
    const [, names] = /^import \{ (.*) \} from 'sluice';/.exec(code)!;
    const definition = code.slice(code.indexOf('\n'), code.indexOf('const {'));
    const make = new Function('sluice', `const { ${names} } = sluice; ${definition} return limiter;`);
    expect((make(library) as library.Limiter).policies).toEqual([policy]);
    expect(code).toContain("limiter.attempt('user:42', { cost: 2 })");
  });

  test('as curl sends that policy', () => {
    const [, body] = /^curl -s http:\/\/host\/v1\/attempt -d '(.*)'$/.exec(
      codeOf('curl', id, policy, 1, 'http://host'),
    )!;
    const sent = JSON.parse(body!) as { policy: unknown };
    expect(library.checkPolicy(sent.policy)).toEqual(policy);
  });
});

test.each<[CardId, Draft, string, string]>([
  ['token-bucket', { capacity: '20', refillRate: '100/m' }, "refillRate: '100/m'", '20 at once, 100/m back'],
  ['token-bucket', { capacity: '20', refillRate: '600/m' }, 'refillRate: 10', '20 at once, 10/s back'],
  ['token-bucket', { capacity: '20', refillRate: '0.123' }, 'refillRate: 0.123', '20 at once, 0.12/s back'],
  ['leaky-bucket-policing', { capacity: '5', leakRate: '7/h' }, "leakRate: '7/h'", 'holds 5, leaks 7/h'],
  ['leaky-bucket-shaping', { capacity: '5', leakRate: '0.0001' }, 'leakRate: 0.0001', 'holds 5, leaks 0.0001/s'],
])('%s with %j is written as a person would', (id, draft, code, summary) => {
  const policy = policyOf(id, draft);
  expect(codeOf('TypeScript', id, policy, 1, '')).toContain(code);
  expect(summaryOf(policy)).toBe(summary);
});

test('as YAML every card is a config that `sluice check` takes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-code-'));
  try {
    for (const id of CARD_IDS) {
      writeFileSync(
        join(folder, `${id}.yaml`),
        codeOf('YAML', id, policyOf(id, OTHER[id] ?? INITIAL_DRAFTS[id]), 1, ''),
      );
    }
    expect(await sluice('check', folder)).toMatchObject({ code: 0 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.each<[CardId, Draft, string, string]>([
  [
    'fixed-window',
    { limit: '', window: '10s', align: 'epoch' },
    'limit',
    'fixed-window.limit: expected a whole number from 1 to 9007199254740991, got nothing',
  ],
  ['fixed-window', { limit: '1.5', window: '10s', align: 'epoch' }, 'limit', 'got 1.5'],
  ['sliding-window-log', { limit: '10', window: 'soon' }, 'window', 'got "soon"'],
  ['token-bucket', { capacity: '10', refillRate: '0' }, 'refillRate', 'got 0'],
  ['gcra', { limit: '10', period: '10s', capacity: '-3' }, 'capacity', 'got -3'],
])('%s refuses %j at %s', (id, draft, field, words) => {
  expect(problemOf(id, draft)).toMatchObject({ field, message: expect.stringContaining(words) });
});
