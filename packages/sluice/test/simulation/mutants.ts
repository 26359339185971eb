/**
 * Layers with one mistake each, made from their source by replacing a few words: what the simulation must notice. They are built
 * beside the package, where nobody else finds them.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { transformWithOxc } from 'vite';
import type { Kind } from '../support/random.ts';
import type { Layers } from './stacks.ts';

export interface Mutant {
  readonly mistake: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Where it shows. */
  readonly stack: string;
  readonly kind: Kind;
}

const LOST_IS_GRANTED =
  "verdicts: [{ allowed: true, remaining: 1e6, retryAfter: 0, resetAfter: 1e6, delay: 0 }], source: 'store', now: 0";

export const MUTANTS: readonly Mutant[] = [
  {
    mistake: 'a lease is counted from the reply, not from before it was asked for',
    file: 'leases.ts',
    from: '#receive(held, units, now, told)',
    to: '#receive(held, units, readMicros(this.#clock), told)',
    stack: 'leases',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'the capacity of a token bucket is not reduced',
    file: 'leases-rules.ts',
    from: 'policy.capacity - Math.ceil(recovered)',
    to: 'policy.capacity',
    stack: 'leases',
    kind: 'token-bucket',
  },
  {
    mistake: 'the capacity of GCRA is not reduced',
    file: 'leases-rules.ts',
    from: 'policy.capacity - Math.ceil(recovered)',
    to: 'policy.capacity',
    stack: 'leases',
    kind: 'gcra',
  },
  {
    mistake: 'a log forgets leased units after its own window',
    file: 'leases-rules.ts',
    from: 'window: (size + ttl) / MICROS_PER_MS',
    to: 'window: size / MICROS_PER_MS',
    stack: 'leases',
    kind: 'sliding-window-log',
  },
  {
    mistake: 'a lease outlives a fixed window',
    file: 'leases-rules.ts',
    from: 'usableFor: (_, { resetAfter }) => resetAfter',
    to: 'usableFor: ALWAYS',
    stack: 'leases',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'a lease outlives a window of the counter',
    file: 'leases-rules.ts',
    from: 'usableFor: untilNextWindow(toMicros(policy.window))',
    to: 'usableFor: ALWAYS',
    stack: 'leases',
    kind: 'sliding-window-counter',
  },
  {
    mistake: 'a request without an answer is taken for granted and used',
    file: 'leases.ts',
    from: '() => this.#inner.decide([check]),',
    to: `() => Promise.resolve(this.#inner.decide([check])).catch(() => ({ ${LOST_IS_GRANTED} })),`,
    stack: 'deadline, leases',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'what a fallback allows is leased',
    file: 'leases.ts',
    from: "told.source !== 'store' || held.isDropped",
    to: 'held.isDropped',
    stack: 'deadline, breaker, allow fallback, leases',
    kind: 'token-bucket',
  },
  {
    mistake: 'a lease never ends',
    file: 'leases-held.ts',
    from: 'return now >= endsAt || now < sentAt;',
    to: 'return false;',
    stack: 'leases',
    kind: 'sliding-window-log',
  },
  {
    mistake: 'units are given back twice',
    file: 'leases-held.ts',
    from: 'taken.push(this.#refundOf(block));',
    to: 'taken.push(this.#refundOf(block), this.#refundOf(block));',
    stack: 'leases',
    kind: 'fixed-window first',
  },
  {
    mistake: 'units that were spent are given back',
    file: 'leases-held.ts',
    from: 'cost: units, spent }',
    to: 'cost: units * 2, spent }',
    stack: 'leases',
    kind: 'sliding-window-log',
  },
  {
    mistake: 'a block leaves the lease alone',
    file: 'leases.ts',
    from: "verb === 'penalize' || verb === 'block'",
    to: "verb === 'penalize'",
    stack: 'leases',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'the deny cache answers after a refund',
    file: 'deny-cache.ts',
    from: '    denials.forget(key);\n',
    to: '',
    stack: 'deny cache',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'the deny cache counts from the reply',
    file: 'deny-cache.ts',
    from: 'learn(checks, verdicts, sentAt, since)',
    to: 'learn(checks, verdicts, readMicros(clock), since)',
    stack: 'deny cache',
    kind: 'token-bucket',
  },
];

const source = new URL('../../src/', import.meta.url);
/** Not in the package, which other tests may be packing. */
const folder = new URL(`../../../../.cache/mutants-${process.pid}/`, import.meta.url);
let made = 0;

export async function layersWith({ file, from, to }: Mutant): Promise<Layers> {
  made += 1;
  const root = new URL(`${made}/`, folder);
  for (const part of ['model', 'layers']) {
    mkdirSync(new URL(`${part}/`, root), { recursive: true });
    for (const name of readdirSync(new URL(`${part}/`, source))) {
      const text = readFileSync(new URL(`${part}/${name}`, source), 'utf8');
      const mutated = name === file ? replaced(text, from, to) : text;
      await build(new URL(`${part}/${name}`, root), mutated);
    }
  }
  return import(/* @vite-ignore */ new URL('layers/index.mjs', root).href) as Promise<Layers>;
}

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the source has changed, and with it this mistake: ${from}`);
  return text.replace(from, to);
}

async function build(file: URL, text: string): Promise<void> {
  const { code } = await transformWithOxc(text, file.pathname);
  writeFileSync(file.pathname.replace(/\.ts$/, '.mjs'), code.replace(/(from\s*["']\.[^"']+)\.ts(["'])/g, '$1.mjs$2'));
}

export function removeMutants(): void {
  rmSync(folder, { recursive: true, force: true });
}
