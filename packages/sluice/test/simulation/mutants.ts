/**
 * Layers with one mistake each, made from their source by replacing a few words: what the simulation must notice. They are built
 * beside the package, where nobody else finds them.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { transformWithOxc } from 'vite';
import type { Samples } from '../../src/model/samples.ts';
import type { Kind, policyOf } from '../support/random.ts';
import type { Layers } from './stacks.ts';

export interface Mutant {
  readonly mistake: string;
  /** Below src. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Where it shows. */
  readonly stack: string;
  readonly kind: Kind;
}

const LOST_IS_GRANTED = "allowed: true, remaining: 1e6, resetAfter: 1, resetAt: 1, source: 'store'";
const NEVER_ENDS = 'usableFor: () => Number.POSITIVE_INFINITY';

export const MUTANTS: readonly Mutant[] = [
  {
    mistake: 'a lease is counted from the reply, not from before it was asked for',
    file: 'layers/leases/leases.ts',
    from: '#receive(held, units, now, told)',
    to: '#receive(held, units, readMicros(this.#clock), told)',
    stack: 'leases',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'the capacity of a token bucket is not reduced',
    file: 'algorithms/shared/bucket.ts',
    from: 'capacity: capacity - Math.ceil(recovered)',
    to: 'capacity',
    stack: 'leases',
    kind: 'token-bucket',
  },
  {
    mistake: 'the capacity of GCRA is not reduced',
    file: 'algorithms/shared/bucket.ts',
    from: 'capacity: capacity - Math.ceil(recovered)',
    to: 'capacity',
    stack: 'leases',
    kind: 'gcra',
  },
  {
    mistake: 'a log forgets leased units after its own window',
    file: 'algorithms/sliding-window-log/sliding-window-log.ts',
    from: 'window: (size + ttl) / 1e3',
    to: 'window: size / 1e3',
    stack: 'leases',
    kind: 'sliding-window-log',
  },
  {
    mistake: 'a lease outlives a fixed window',
    file: 'algorithms/fixed-window/fixed-window.ts',
    from: 'usableFor: (_now, resetAfter) => resetAfter',
    to: NEVER_ENDS,
    stack: 'leases',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'a lease outlives a window of the counter',
    file: 'algorithms/sliding-window-counter/sliding-window-counter.ts',
    from: 'usableFor: (now) => openedAt(now) + size - now',
    to: NEVER_ENDS,
    stack: 'leases',
    kind: 'sliding-window-counter',
  },
  {
    mistake: 'a request without an answer is taken for granted and used',
    file: 'layers/leases/leases.ts',
    from: '() => this.#inner.ask(question),',
    to: `() => Promise.resolve(this.#inner.ask(question)).catch(() => ({ ${LOST_IS_GRANTED} })),`,
    stack: 'deadline, leases',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'what a fallback allows is leased',
    file: 'layers/leases/leases.ts',
    from: "told.source !== 'store' || held.isDropped",
    to: 'held.isDropped',
    stack: 'deadline, breaker, allow fallback, leases',
    kind: 'token-bucket',
  },
  {
    mistake: 'a lease never ends',
    file: 'layers/leases/held.ts',
    from: 'return now >= endsAt || now < sentAt;',
    to: 'return false;',
    stack: 'leases',
    kind: 'sliding-window-log',
  },
  {
    mistake: 'units are given back twice',
    file: 'layers/leases/held.ts',
    from: 'taken.push(this.#refundOf(block));',
    to: 'taken.push(this.#refundOf(block), this.#refundOf(block));',
    stack: 'leases',
    kind: 'fixed-window first',
  },
  {
    mistake: 'units that were spent are given back',
    file: 'layers/leases/held.ts',
    from: 'cost: units, spent }',
    to: 'cost: units * 2, spent }',
    stack: 'leases',
    kind: 'sliding-window-log',
  },
  {
    mistake: 'a block leaves the lease alone',
    file: 'layers/leases/leases.ts',
    from: "verb === 'penalize' || verb === 'block'",
    to: "verb === 'penalize'",
    stack: 'leases',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'the deny cache answers after a refund',
    file: 'layers/deny-cache/deny-cache.ts',
    from: '        this.#denials.forget(key);\n',
    to: '',
    stack: 'deny cache',
    kind: 'fixed-window epoch',
  },
  {
    mistake: 'the deny cache counts from the reply',
    file: 'layers/deny-cache/deny-cache.ts',
    from: '#learn(question, told, sentAt, since)',
    to: '#learn(question, told, readMicros(this.#clock), since)',
    stack: 'deny cache',
    kind: 'token-bucket',
  },
];

const source = new URL('../../src/', import.meta.url);
/** Not in the package, which other tests may be packing. */
const folder = new URL(`../../../../.cache/mutants-${process.pid}/`, import.meta.url);
let made = 0;

/** What a simulation runs on: the layers, and the policies with the rules that they carry. */
export interface Subject {
  readonly layers: Layers;
  readonly makes: typeof policyOf;
}

/** All of it is built anew, so that layers and rules are of one piece; the store beside them is the real one. */
const PARTS = ['model', 'store', 'layers', 'algorithms'];

/** Without a mutant: as it is. */
export async function subjectWith(mutant?: Mutant): Promise<Subject> {
  made += 1;
  const root = new URL(`${made}/`, folder);
  const files = PARTS.flatMap((part) =>
    readdirSync(new URL(`${part}/`, source), { recursive: true, encoding: 'utf8' }).map((name) => `${part}/${name}`),
  );
  for (const name of [...files.filter((each) => each.endsWith('.ts')), 'testing/samples.generated.ts']) {
    const text = readFileSync(new URL(name, source), 'utf8');
    await build(new URL(name, root), name === mutant?.file ? replaced(text, mutant.from, mutant.to) : text);
  }
  const built = (name: string): Promise<unknown> => import(/* @vite-ignore */ new URL(name, root).href);
  const { SAMPLES } = (await built('testing/samples.generated.mjs')) as { SAMPLES: readonly Samples[] };
  return {
    layers: (await built('layers/index.mjs')) as Layers,
    makes: (kind, numbers, name) => SAMPLES.find((sample) => sample.kind === kind)!.policy(numbers, name),
  };
}

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the source has changed, and with it this mistake: ${from}`);
  return text.replace(from, to);
}

async function build(file: URL, text: string): Promise<void> {
  const { code } = await transformWithOxc(text, file.pathname);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file.pathname.replace(/\.ts$/, '.mjs'), code.replace(/(from\s*["']\.[^"']+)\.ts(["'])/g, '$1.mjs$2'));
}

export function removeMutants(): void {
  rmSync(folder, { recursive: true, force: true });
}
