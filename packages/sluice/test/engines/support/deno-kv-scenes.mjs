/** What the store in Deno KV does. Run by Deno; prints the scenes that held. Each has a file of its own. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createLimiter, tokenBucket } from 'sluice';
import { denoKvStore } from 'sluice/deno-kv';

const folder = mkdtempSync(join(tmpdir(), 'sluice-deno-kv-'));
const policy = tokenBucket({ name: 'scene', capacity: 100, refillRate: '1/d' });
const PATIENT = { silence: '120s', deadline: '120s', denyCache: false };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The real database, behind a way to it that can be cut. */
function behindNetwork(kv) {
  const network = { trouble: 'none' };
  const pass = async (act) => {
    if (network.trouble === 'throw') throw new Error('connection lost');
    if (network.trouble === 'hang') await new Promise(() => {});
    return act();
  };
  const atomic = () => {
    const operation = kv.atomic();
    const chained =
      (name) =>
      (...args) => {
        operation[name](...args);
        return own;
      };
    const own = {
      check: chained('check'),
      set: chained('set'),
      delete: chained('delete'),
      commit: () => pass(() => operation.commit()),
    };
    return own;
  };
  return { network, kv: { get: (key) => pass(() => kv.get(key)), atomic } };
}

async function outage(kv, trouble) {
  const codes = [];
  const listen = ({ code }) => String(code).startsWith('SLUICE_') && codes.push(code);
  process.on('warning', listen);
  const way = behindNetwork(kv);
  const limiter = createLimiter({ policy, store: denoKvStore(way.kv, { denyCache: false, silence: '200ms' }) });
  while ((await limiter.attempt('key')).source !== 'store') await sleep(10);
  way.network.trouble = trouble;
  for (let time = 0; time < 12; time += 1) {
    const start = performance.now();
    assert.equal((await limiter.attempt('key')).source, 'fallback');
    assert.ok(performance.now() - start < 20_000);
  }
  way.network.trouble = 'none';
  while ((await limiter.attempt('key')).source !== 'store') await sleep(20);
  while (!codes.includes('SLUICE_STORE_BACK')) await sleep(5);
  assert.deepEqual(codes.slice(-2), ['SLUICE_STORE_AWAY', 'SLUICE_STORE_BACK']);
  process.off('warning', listen);
}

const SCENES = {
  'an outage is bounded and loud, and ends by itself: it fails': (kv) => outage(kv, 'throw'),
  'an outage is bounded and loud, and ends by itself: it hangs': (kv) => outage(kv, 'hang'),

  async 'a denial is one read, an allowed attempt a read and a write'(kv) {
    let calls = [];
    const counted = {
      get: (key) => {
        calls.push('get');
        return kv.get(key);
      },
      atomic: () => {
        calls.push('atomic');
        return kv.atomic();
      },
    };
    const limiter = createLimiter({ policy, store: denoKvStore(counted, PATIENT) });
    await limiter.attempt('key', { cost: 100 });
    assert.deepEqual(calls, ['get', 'atomic']);
    calls = [];
    await limiter.attempt('key');
    assert.deepEqual(calls, ['get']);
  },

  async 'no two keys share a state'(kv) {
    const limiter = createLimiter({ policy, store: denoKvStore(kv, PATIENT) });
    const keys = [
      '',
      '%',
      '\0',
      'a\0b',
      'a',
      '\ud800',
      '\ud801',
      '\ufffd',
      'x'.repeat(9000),
      `${'x'.repeat(8999)}y`,
      '😀'.repeat(200),
    ];
    for (const key of keys) assert.equal((await limiter.attempt(key)).remaining, 99, JSON.stringify(key.slice(0, 9)));
    for (const key of keys) assert.equal((await limiter.attempt(key)).remaining, 98, JSON.stringify(key.slice(0, 9)));
  },

  async 'what is wrong is said where it is written'(kv) {
    assert.throws(() => denoKvStore(undefined), { code: 'SLUICE_INVALID_CLIENT' });
    assert.throws(() => denoKvStore(kv, { prefx: 'a' }), { path: 'denoKvStore.prefx' });
    assert.throws(() => denoKvStore(kv, { prefix: 5 }), { path: 'denoKvStore.prefix' });
  },
};

const held = [];
for (const [title, scene] of Object.entries(SCENES)) {
  const kv = await globalThis.Deno.openKv(join(folder, `${held.length}.db`));
  await scene(kv);
  kv.close();
  held.push(title);
}
rmSync(folder, { recursive: true });
console.log(JSON.stringify(held));
process.exit(0);
