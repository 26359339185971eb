/** What is published: every subpath resolves to code and types, nothing else is needed to run it, and it stays small. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { minifySync, parseSync } from 'vite';
import { describe, expect, test } from 'vitest';
import { PROGRAMS, sizeOf } from '../../../tools/size.mjs';

const folder = new URL('../', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
const subpaths = Object.entries<{ types: string; default: string }>(manifest.exports).filter(
  ([name]) => name !== './package.json',
);

const PUBLIC: Readonly<Record<string, readonly string[]>> = {
  '.': [
    ...[
      'SluiceError',
      'algorithms',
      'calendarQuota',
      'checkPolicy',
      'concurrency',
      'createLimiter',
      'fixedWindow',
      'gcra',
      'leakyBucket',
    ],
    ...[
      'limiterOver',
      'manualClock',
      'memoryStore',
      'nothing',
      'parseDuration',
      'parseRate',
      'policyMistakes',
      'slidingWindowCounter',
      'slidingWindowLog',
    ],
    ...['systemClock', 'tokenBucket', 'unlimited'],
  ],
  './store': [
    ...['Step', 'answer', 'around', 'asking', 'attemptOf', 'checksOf', 'decidedAt', 'decisionOf', 'isPromise'],
    ...['isStoreFault', 'proceed', 'resultOf', 'ruleOf', 'spentBy', 'storeOver', 'verdictOf'],
  ],
  './algorithm': ['Step', 'defineAlgorithm'],
  './redis': [
    'checkServer',
    'inspectState',
    'parseStateName',
    'redisStoreOver',
    'scriptRunner',
    'stateName',
    'statePattern',
  ],
  './node-redis': ['checkServer', 'redisStore', 'runScriptWith'],
  './ioredis': ['checkServer', 'redisStore', 'runScriptWith'],
  './valkey-glide': ['checkServer', 'redisStore', 'runScriptWith'],
  './postgres': ['createTable', 'postgresStore', 'postgresTable'],
  './upstash': ['upstashStore'],
  './sqlite': ['sqliteStore'],
  './durable-object': ['RateLimitObject', 'durableObjectStore'],
  './deno-kv': ['denoKvStore'],
  './http': [
    ...['anonymous', 'byHeader', 'byIp', 'byRoute', 'byUser', 'combine', 'denial', 'firstOf', 'gate', 'headerWriter'],
    ...['parseRateLimit', 'pathReadings', 'rateLimitHeaders', 'rateLimitedFetch'],
  ],
  './layers': [
    ...[
      'circuitBreaker',
      'deadline',
      'denyCache',
      'fallback',
      'layered',
      'leases',
      'nearLimit',
      'resilient',
      'shadow',
      'sharded',
      'telemetry',
    ],
  ],
  './exceptions': ['blockFor', 'exceptionsOver', 'redisExceptions', 'sharedExceptions'],
  './otel': ['openTelemetry'],
  './express': ['rateLimit'],
  './fastify': ['rateLimit', 'rateLimitHook'],
  './hono': ['rateLimit'],
  './koa': ['rateLimit'],
  './nest': ['RateLimit', 'RateLimitException', 'RateLimitGuard', 'RateLimitModule', 'SkipRateLimit'],
  './fetch': ['rateLimit', 'rateLimitOf'],
  './lambda': ['rateLimit', 'rateLimitHeadersOf', 'rateLimitOf'],
  './node': ['rateLimit', 'rateLimitUpgrade'],
  './sveltekit': ['rateLimit'],
  './elysia': ['rateLimit', 'rateLimitHook', 'rateLimitOf'],
  './h3': ['rateLimit'],
  './trpc': ['RateLimitError', 'rateLimit', 'retryAfterOf'],
  './graphql': ['GraphqlRateLimitError', 'operationCost', 'rateLimit', 'rateLimitPlugin', 'useRateLimit'],
  './ws': ['byConnection', 'rateLimit', 'rateLimitConnections'],
  './socket.io': ['RateLimitError', 'byConnection', 'rateLimit', 'rateLimitConnections'],
  './mcp': ['rateLimit'],
  './express-rate-limit': ['sluiceStore'],
  './nestjs-throttler': ['throttlerStorage'],
  './adaptive': ['adaptiveLimit', 'aimd', 'gradient2', 'vegas'],
  './llm': ['estimates', 'lowerTo', 'providerRemaining', 'settleWhen', 'usageReader'],
  './testing': ['caseTables', 'manualClock', 'storeContract'],
  './unified': ['unifiedLimiter'],
};

/** What they throw is known by their own classes. */
const WITH_PEERS = ['frameworks/nest.js', 'frameworks/trpc.js'];

/** Programs of tools/size.mjs, and the most bytes each may have. */
const MOST_BYTES: Readonly<Record<keyof typeof PROGRAMS, number>> = {
  'memory, one policy': 19_400,
  'memory, two policies': 21_200,
  'memory, all policies': 29_000,
  'bare Redis, one policy': 23_200,
  'redisStore, one policy': 36_500,
  'redisStore, all policies': 46_300,
};

describe('package', () => {
  test('has no dependencies', () => {
    expect(manifest.dependencies).toBeUndefined();
    expect(Object.keys(manifest.peerDependenciesMeta)).toEqual(Object.keys(manifest.peerDependencies));
    for (const meta of Object.values(manifest.peerDependenciesMeta)) expect(meta).toEqual({ optional: true });
  });

  test.each(subpaths)('%s resolves, with types, to what it promises', async (name, { types, default: code }) => {
    expect(statSync(new URL(types, folder)).size).toBeGreaterThan(0);
    const module = await import(new URL(code, folder).href);
    expect(Object.keys(module).sort()).toEqual([...PUBLIC[name]!].sort());
  });

  test('lists every subpath that is promised', () => {
    expect(subpaths.map(([name]) => name).sort()).toEqual(Object.keys(PUBLIC).sort());
  });

  test('runs without anything of Node, and imports nothing of others but for Nest and tRPC', () => {
    // The CommonJS form is made from the same sources.
    const all = readdirSync(new URL('dist', folder), { recursive: true }).map(String);
    const built = all.filter((name) => !name.startsWith('cjs/'));
    for (const file of built.filter((name) => name.endsWith('.js') && !WITH_PEERS.includes(name))) {
      expect(reachesFor(file), file).toEqual([]);
    }
  });

  test('a file without Redis does not carry the scripts', () => {
    expect(importsOf('index.js').filter((file) => file.includes('/redis/'))).toEqual([]);
  });

  /** What a page or a function pays that bundles it. docs/decisions/0012-size.md says what is in it. */
  test.each(Object.entries(MOST_BYTES))(
    '%s: it stays small when it is bundled, minified and compressed',
    async (name, most) => {
      const { bytes } = await sizeOf(PROGRAMS[name as keyof typeof PROGRAMS]);
      expect(bytes).toBeLessThanOrEqual(most);
      expect(bytes, 'it has become much smaller: lower the bound').toBeGreaterThan(most * 0.97);
    },
  );

  test('nobody carries an algorithm that was not imported', async () => {
    const one = await sizeOf(PROGRAMS['memory, one policy']);
    const two = await sizeOf(PROGRAMS['memory, two policies']);
    const all = await sizeOf(PROGRAMS['memory, all policies']);
    expect(two.bytes).toBeGreaterThan(one.bytes + 500);
    expect(all.bytes).toBeGreaterThan(two.bytes + 500);
    const carried = one.files.map(({ file }) => file).filter((file) => file.startsWith('algorithms/'));
    expect(carried.filter((file) => !/^algorithms\/(shared|token-bucket)\//.test(file))).toEqual([]);
  });

  test('packs its code, its types, the pages of its errors and its licence', async () => {
    const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: fileURLToPath(folder),
    });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const packed = files.map(({ path }) => path);
    expect(packed).toContain('LICENSE');
    const pages = readdirSync(new URL('../../docs/errors', folder)).map((page) => `docs/errors/${page}`);
    // Written when it is packed.
    const more = packed.filter((path) => !/^(dist|src)\//.test(path) && path !== 'llms.txt');
    expect(more.sort()).toEqual(['LICENSE', 'README.md', 'package.json', ...pages].sort());
    expect(packed.filter((path) => path.includes('.test.'))).toEqual([]);
    // "Go to definition" and stack traces lead to the source: every map names a file that is packed.
    const maps = packed.filter((path) => path.endsWith('.map'));
    expect(maps.length).toBeGreaterThan(100);
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(new URL(map, folder), 'utf8')) as { sources: string[] };
      for (const source of sources) expect(packed).toContain(posix.join(posix.dirname(map), source));
    }
  });
});

/** Modules of others that a file imports, and globals of Node that its code names. Minified, so that what is local has another name. */
function reachesFor(file: string): string[] {
  const { code } = minifySync(file, readFileSync(new URL(`dist/${file}`, folder), 'utf8'), { module: true });
  const found: string[] = [];
  const walk = (node: unknown, field: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, name, value, computed } = node as {
      type?: string;
      name?: string;
      value?: unknown;
      computed?: boolean;
    };
    const isGlobal = ['process', 'Buffer', 'require', '__dirname', 'global'].includes(name ?? '');
    if (type === 'Identifier' && isGlobal && !['key', 'property'].includes(field)) found.push(name!);
    if (field === 'source' && !String(value).startsWith('.')) found.push(String(value));
    for (const [each, child] of Object.entries(node))
      walk(child, computed ? '' : Number.isNaN(Number(each)) ? each : field);
  };
  walk(parseSync(file, code).program, '');
  return found;
}

/** An entry of dist and everything it imports. */
function importsOf(entry: string, seen = new Set<string>()): string[] {
  const url = new URL(entry, new URL('dist/', folder));
  if (seen.has(url.pathname)) return [];
  seen.add(url.pathname);
  const imports = [...readFileSync(url, 'utf8').matchAll(/from ['"](\.[^'"]+)['"]/g)].map(
    ([, path]) => new URL(path!, url).pathname,
  );
  const base = new URL('dist/', folder).pathname;
  return [url.pathname, ...imports.flatMap((path) => importsOf(path.slice(base.length), seen))];
}
