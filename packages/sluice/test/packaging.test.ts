/** What is published: every subpath resolves to code and types, nothing else is needed to run it, and it stays small. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { describe, expect, test } from 'vitest';

const folder = new URL('../', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
const subpaths = Object.entries<{ types: string; default: string }>(manifest.exports).filter(
  ([name]) => name !== './package.json',
);

const PUBLIC: Readonly<Record<string, readonly string[]>> = {
  '.': [
    ...[
      'SluiceError',
      'checkPolicy',
      'createLimiter',
      'fixedWindow',
      'gcra',
      'leakyBucket',
      'manualClock',
      'memoryStore',
    ],
    ...['slidingWindowCounter', 'slidingWindowLog', 'systemClock', 'tokenBucket'],
  ],
  './redis': ['checkServer', 'redisStoreOver', 'scriptRunner'],
  './node-redis': ['checkServer', 'redisStore', 'runScriptWith'],
  './ioredis': ['checkServer', 'redisStore', 'runScriptWith'],
  './valkey-glide': ['checkServer', 'redisStore', 'runScriptWith'],
  './http': [
    ...['anonymous', 'byHeader', 'byIp', 'byRoute', 'byUser', 'combine', 'denial', 'firstOf', 'gate', 'headerWriter'],
    ...['parseRateLimit', 'rateLimitHeaders', 'rateLimitedFetch'],
  ],
  './layers': [
    ...['circuitBreaker', 'deadline', 'denyCache', 'fallback', 'layered', 'leases', 'resilient', 'shadow', 'telemetry'],
  ],
  './otel': ['openTelemetry'],
  './express': ['rateLimit'],
  './fastify': ['rateLimit', 'rateLimitHook'],
  './hono': ['rateLimit'],
  './koa': ['rateLimit'],
  './nest': ['RateLimit', 'RateLimitException', 'RateLimitGuard', 'RateLimitModule', 'SkipRateLimit'],
  './fetch': ['rateLimit', 'rateLimitOf'],
  './node': ['rateLimit', 'rateLimitUpgrade'],
  './express-rate-limit': ['sluiceStore'],
  './nestjs-throttler': ['throttlerStorage'],
  './testing': ['caseTables', 'manualClock', 'storeContract'],
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

  test('runs without anything of Node, and imports nothing of others but for Nest', () => {
    const built = readdirSync(new URL('dist', folder), { recursive: true }).map(String);
    for (const file of built.filter((name) => name.endsWith('.js') && name !== 'frameworks/nest.js')) {
      const text = readFileSync(new URL(`dist/${file}`, folder), 'utf8');
      expect(text, file).not.toMatch(/from ['"](?!\.)|require\(['"]|\bprocess\.|\bBuffer\b/);
    }
  });

  test('a file without Redis does not carry the scripts', () => {
    expect(importsOf('index.js').filter((file) => file.includes('/redis/'))).toEqual([]);
  });

  /** What a page or a function pays that bundles it: every algorithm, every verb; with Redis also every script and layer. */
  test.each([
    ['index.js', 17_000],
    ['redis/clients/ioredis.js', 36_000],
  ])('%s stays small when it is bundled, minified and compressed', async (entry, most) => {
    const input = fileURLToPath(new URL(entry, new URL('dist/', folder)));
    const built = await build({
      configFile: false,
      logLevel: 'silent',
      build: { write: false, minify: true, lib: { entry: input, formats: ['es'] } },
    });
    const [{ output }] = built as unknown as [{ output: { code: string }[] }];
    const size = gzipSync(output[0]!.code).length;
    expect(size).toBeLessThan(most);
    expect(size, 'it has become much smaller: lower the bound').toBeGreaterThan(most * 0.7);
  });

  test('packs its code, its types and its licence', async () => {
    const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json'], {
      cwd: fileURLToPath(folder),
    });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const packed = files.map(({ path }) => path);
    expect(packed).toContain('LICENSE');
    expect(packed.filter((path) => !path.startsWith('dist/')).sort()).toEqual(['LICENSE', 'README.md', 'package.json']);
    expect(packed.filter((path) => path.includes('.test.'))).toEqual([]);
  });
});

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
