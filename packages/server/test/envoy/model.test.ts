/**
 * The service with denied requests that spend, against a model of the reference server: files and requests that nobody thought of, and the
 * same answers, headers, metadata and metrics.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { answerText } from './cases.ts';
import { type FileLimit, type FileNode, ReferenceModel, UNIT_SECONDS } from './model.ts';
import { type Asked, type EnvoyService, START, startEnvoy } from './support.ts';

const key = fc.constantFrom('k', 'l');
const value = fc.constantFrom('a', 'b', 'ab', 'abc', 'cab', '');
const pattern = fc.constantFrom('a', 'ab', 'a*', '*b', 'a*c', '*', 'a*b*c', undefined, undefined);
const name = fc.constantFrom('one', 'two', 'three');
const maybe = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(some, { nil: undefined });

const replaces = fc.uniqueArray(name, { maxLength: 2 }).map((names) => names.map((name) => ({ name })));
const limited = fc
  .record({
    unit: fc.constantFrom(...Object.keys(UNIT_SECONDS)),
    requests_per_unit: fc.nat(6),
    name: maybe(name),
    replaces: maybe(replaces),
  })
  .map((limit) => ({ ...limit, replaces: limit.replaces?.filter((other) => other.name !== limit.name) }));
const unlimited = fc.record({ unlimited: fc.constant(true), replaces });
const limit: fc.Arbitrary<FileLimit> = fc.oneof({ weight: 3, arbitrary: limited }, { weight: 1, arbitrary: unlimited });

const scalar = fc.constantFrom<unknown>('text', 1, true);
const metadata = fc.dictionary(
  fc.constantFrom('p', 'q'),
  fc.oneof(scalar, fc.dictionary(fc.constantFrom('r', 's'), scalar)),
);

function nodes(depth: number): fc.Arbitrary<readonly FileNode[]> {
  const node = fc.record({
    ...{ key, value: pattern, rate_limit: maybe(limit), metadata: maybe(metadata) },
    ...{ shadow_mode: fc.boolean(), quota_mode: fc.boolean(), share_threshold: fc.boolean() },
    ...{ detailed_metric: fc.boolean(), value_to_metric: fc.boolean() },
    descriptors: depth === 0 ? fc.constant(undefined) : maybe(nodes(depth - 1)),
  });
  const allowed = node.map((node) => ({
    ...node,
    share_threshold: node.share_threshold && node.value?.includes('*') === true,
  }));
  return fc.uniqueArray(allowed, { minLength: 1, maxLength: 6, selector: ({ key, value }) => `${key}=${value}` });
}

const override = fc.record({ requestsPerUnit: fc.nat(5), unit: fc.constantFrom('SECOND', 'MINUTE', 'DAY') });
const descriptor = fc.record(
  {
    entries: fc.array(fc.record({ key, value }), { minLength: 1, maxLength: 2 }),
    hitsAddend: fc.record({ value: fc.nat(3) }),
    limit: override,
    isNegativeHits: fc.constantFrom(false, false, true),
  },
  { requiredKeys: ['entries'] },
);
const request: fc.Arbitrary<Asked> = fc.record({
  domain: fc.constantFrom('shop', 'shop', 'shop', 'nowhere'),
  descriptors: fc.array(descriptor, { minLength: 1, maxLength: 4 }),
  hitsAddend: fc.nat(3),
});
const step = fc.record({ request, wait: fc.constantFrom(0, 0, 0, 1, 30, 70, 4000) });
const modes = fc.record({ shadowMode: fc.boolean(), quotaMode: fc.constantFrom(false, false, true) });

const headers = { limit: 'L', remaining: 'R', reset: 'T' };
const COUNTS = ['total_hits', 'over_limit', 'near_limit', 'within_limit', 'shadow_mode', 'total_negative_hits'];

async function countsOf(service: EnvoyService): Promise<Record<string, number[]>> {
  const counts: Record<string, number[]> = {};
  const { text } = await service.get('/metrics');
  for (const [, count, labels, sum] of text.matchAll(/^ratelimit_service_rate_limit_(\w+)\{(.*)\} (\d+)$/gm)) {
    const rule = [...labels!.matchAll(/key\d+="([^"]*)"/g)].map(([, composite]) => composite).join('.');
    counts[rule] ??= COUNTS.map(() => 0);
    if (COUNTS.includes(count!)) counts[rule][COUNTS.indexOf(count!)] = Number(sum);
  }
  return counts;
}

const ways = fc.constantFrom('grpc' as const, 'json' as const);

test('a few thousand requests', { timeout: 120_000 }, async () => {
  const codes: Record<string, number> = {};
  const property = fc.asyncProperty(
    nodes(1),
    fc.array(step, { maxLength: 25 }),
    modes,
    ways,
    async (file, steps, set, way) => {
      const yaml = stringify({ domain: 'shop', descriptors: file }, { version: '1.1', aliasDuplicateObjects: false });
      const service = await startEnvoy(yaml, { settings: { ...set, denied: 'spend', dynamicMetadata: true, headers } });
      const model = new ReferenceModel('shop', file, set);
      let now = START / 1e3;
      try {
        for (const { request, wait } of steps) {
          now += wait;
          service.clock.set(now * 1e3);
          const expected = model.answer(request, now);
          const answer = await service[way](request);
          expect(answerText(answer)).toBe(expected.text);
          expect(answer.responseHeadersToAdd?.map((header: { value: string }) => header.value)).toEqual(
            expected.headers,
          );
          expect(answer.dynamicMetadata.metadata).toEqual(expected.metadata);
          codes[answer.overallCode] = (codes[answer.overallCode] ?? 0) + 1;
        }
        expect(await countsOf(service)).toEqual(Object.fromEntries(model.counts));
      } finally {
        await service.stop();
      }
    },
  );
  await fc.assert(property, { numRuns: 200 });
  // Some hundred of the rarer one, by chance: without any, nothing would have been compared.
  expect(Math.min(codes.OK!, codes.OVER_LIMIT!)).toBeGreaterThan(20);
});
