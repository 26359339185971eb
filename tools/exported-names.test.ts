/** Every name that people can import says what it is when they hover over it, and those they meet first show how to use it. */
import { expect, test } from 'vitest';
import { exportedNames } from './exported-names.mjs';

const NAMES = exportedNames();

/** What people meet first. */
const WITH_EXAMPLE: Readonly<Record<string, readonly string[]>> = {
  sluice: [
    ...['fixedWindow', 'slidingWindowLog', 'slidingWindowCounter', 'tokenBucket', 'leakyBucket', 'gcra'],
    ...['createLimiter', 'limiterOver', 'memoryStore', 'manualClock', 'checkPolicy', 'SluiceError'],
  ],
  'sluice/ioredis': ['redisStore'],
  'sluice/node-redis': ['redisStore'],
  'sluice/valkey-glide': ['redisStore'],
  'sluice/redis': ['scriptRunner'],
  'sluice/express': ['rateLimit'],
  'sluice/fastify': ['rateLimit'],
  'sluice/hono': ['rateLimit'],
  'sluice/koa': ['rateLimit'],
  'sluice/nest': ['RateLimitModule'],
  'sluice/fetch': ['rateLimit'],
  'sluice/node': ['rateLimit'],
  'sluice/sveltekit': ['rateLimit'],
  'sluice/elysia': ['rateLimit', 'rateLimitHook'],
  'sluice/h3': ['rateLimit'],
  'sluice/trpc': ['rateLimit', 'retryAfterOf'],
  'sluice/graphql': ['rateLimit', 'useRateLimit', 'rateLimitPlugin', 'operationCost'],
  'sluice/ws': ['rateLimit', 'rateLimitConnections'],
  'sluice/socket.io': ['rateLimit', 'rateLimitConnections'],
  'sluice/mcp': ['rateLimit'],
  'sluice/http': ['byIp', 'byUser', 'rateLimitedFetch'],
  'sluice/layers': ['layered'],
  'sluice/otel': ['openTelemetry'],
  'sluice/store': ['storeOver'],
  'sluice/algorithm': ['defineAlgorithm'],
  'sluice/testing': ['storeContract'],
  'sluice/express-rate-limit': ['sluiceStore'],
  'sluice/nestjs-throttler': ['throttlerStorage'],
};

test('all of them are found', () => {
  expect(NAMES.length).toBeGreaterThan(300);
  expect(NAMES.filter(({ from }) => from === 'sluice/store').map(({ name }) => name)).toContain('ruleOf');
  expect(NAMES.find(({ name }) => name === 'attemptOf')?.file).toBe('packages/sluice/src/model/store.ts');
});

test('none is without a comment', () => {
  const bare = NAMES.filter(({ comment }) => comment === undefined);
  expect(bare.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
});

test('a comment is at least a sentence', () => {
  const text = (comment: string): string => comment.replace(/^\/\*\*|\*\/$|^ *\* ?/gm, '').trim();
  const short = NAMES.filter(({ comment }) => !/^\W*[A-Z`'].{9,}[.:)`?]/s.test(text(comment!)));
  expect(short.map(({ file, name, comment }) => `${file}: ${name}: ${comment}`)).toEqual([]);
});

test.each(Object.entries(WITH_EXAMPLE))('%s: what people meet first has an example', (from, names) => {
  for (const name of names) {
    const found = NAMES.find((each) => each.from === from && each.name === name);
    expect(found?.comment, `${from}: ${name}`).toContain('@example');
  }
});
