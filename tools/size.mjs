/**
 * What the library weighs for whoever bundles it: `node tools/size.mjs`, after `npm run build`. A bundle is minified and compressed as a page
 * would get it; what a file adds to that is told by its share of the text.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, minifySync } from 'vite';

const DIST = fileURLToPath(new URL('../packages/sluice/dist/', import.meta.url));
const ALL = 'fixedWindow, slidingWindowLog, slidingWindowCounter, tokenBucket, leakyBucket, gcra';

/** What a program imports, with `DIST/` for where the library is. */
export const PROGRAMS = {
  'memory, one policy': `export { createLimiter, tokenBucket } from 'DIST/index.js';`,
  'memory, two policies': `export { createLimiter, tokenBucket, gcra } from 'DIST/index.js';`,
  'memory, all policies': `export { createLimiter, ${ALL} } from 'DIST/index.js';`,
  'bare Redis, one policy': `export { limiterOver, tokenBucket } from 'DIST/index.js';
export { redisStoreOver } from 'DIST/redis/index.js';`,
  'redisStore, one policy': `export { createLimiter, tokenBucket } from 'DIST/index.js';
export { redisStore } from 'DIST/presets/ioredis.js';`,
  'redisStore, all policies': `export { createLimiter, ${ALL} } from 'DIST/index.js';
export { redisStore } from 'DIST/presets/ioredis.js';`,
};

/** Bytes of the bundle, compressed, and of each file in it, about. */
export async function sizeOf(program) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-size-'));
  const input = join(folder, 'program.js');
  writeFileSync(input, program.replaceAll('DIST/', DIST));
  try {
    const { output } = await build({
      configFile: false,
      logLevel: 'silent',
      root: folder,
      build: {
        write: false,
        minify: true,
        target: 'esnext',
        modulePreload: false,
        rolldownOptions: { input, preserveEntrySignatures: 'strict', output: { format: 'es' } },
      },
    });
    const [{ code, modules }] = output;
    const bytes = compressed(code);
    return { bytes, files: shares(modules, bytes) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function compressed(text) {
  return gzipSync(text, { level: 9 }).length;
}

/** As a file of its own: what is bundled has lost its exports, and nothing would be left. */
function minified(file) {
  return minifySync(file, readFileSync(file, 'utf8'), { module: true }).code;
}

function shares(modules, bytes) {
  const files = Object.entries(modules)
    .filter(([file, { code }]) => file.startsWith(DIST) && code)
    .map(([file]) => ({ file: file.slice(DIST.length), weight: compressed(minified(file)) }));
  const whole = files.reduce((sum, { weight }) => sum + weight, 0);
  return files
    .map(({ file, weight }) => ({ file, bytes: Math.round((weight * bytes) / whole) }))
    .sort((one, other) => other.bytes - one.bytes);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, program] of Object.entries(PROGRAMS)) {
    const { bytes, files } = await sizeOf(program);
    console.log(`\n${name}: ${bytes} bytes\n`);
    for (const { file, bytes: part } of files) console.log(`${String(part).padStart(6)}  ${file}`);
  }
}
