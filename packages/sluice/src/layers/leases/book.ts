/** Everything a process holds or might want to hold, by key: a bounded map. The key that was quiet for longest makes room. */
import type { Change } from '../../model/store.ts';
import { HeldKey, type Sizing } from './held.ts';
import type { Terms } from './terms.ts';

/** Of one key. Whoever makes up a policy for each attempt has no use for leases. */
const MOST_POLICIES = 8;

const NOTHING: readonly Change[] = [];

export class LeaseBook {
  readonly #maxKeys: number;
  readonly #sizing: Sizing;
  /** In the order they were last busy. */
  readonly #byKey = new Map<string, HeldKey>();
  /** Those that hold units, in the order they got them: the first is about the first to end. */
  readonly #holding = new Set<HeldKey>();

  constructor(maxKeys: number, sizing: Sizing) {
    this.#maxKeys = maxKeys;
    this.#sizing = sizing;
  }

  get size(): number {
    return this.#byKey.size;
  }

  find(key: string, terms: Terms, now: number): HeldKey {
    let held = this.#byKey.get(key);
    while (held !== undefined && held.terms !== terms) held = held.other;
    return held ?? this.#add(key, terms, now);
  }

  #add(key: string, terms: Terms, now: number): HeldKey {
    const held = new HeldKey(key, terms, this.#sizing, now);
    if (this.#policiesOf(key) >= MOST_POLICIES) this.drop(key);
    held.other = this.#byKey.get(key);
    if (held.other === undefined && this.#byKey.size >= this.#maxKeys) this.#makeRoom();
    this.#byKey.set(key, held);
    return held;
  }

  #policiesOf(key: string): number {
    let policies = 0;
    for (let held = this.#byKey.get(key); held !== undefined; held = held.other) policies += 1;
    return policies;
  }

  #makeRoom(): void {
    const [quietest] = this.#byKey.keys();
    this.drop(quietest!);
  }

  isBusy(key: string): void {
    const first = this.#byKey.get(key);
    if (first === undefined) return;
    this.#byKey.delete(key);
    this.#byKey.set(key, first);
  }

  isHolding(held: HeldKey): void {
    this.#holding.delete(held);
    this.#holding.add(held);
  }

  /** What the key that got its units first can give back, if its time is over. */
  collect(now: number): readonly Change[] {
    if (this.#holding.size === 0) return NOTHING;
    for (const held of this.#holding) {
      if (!held.isEmpty && !held.hasEnded(now)) return NOTHING;
      const ended = held.takeEnded(now);
      if (held.isEmpty) this.#holding.delete(held);
      return ended;
    }
    return NOTHING;
  }

  /** Lets go of a key under all its policies. What was held of it is no longer spent here, and may be given back. */
  drop(key: string): readonly Change[] {
    const refunds: Change[] = [];
    for (let held = this.#byKey.get(key); held !== undefined; held = held.other) {
      held.isDropped = true;
      this.#holding.delete(held);
      refunds.push(...held.takeAll());
    }
    this.#byKey.delete(key);
    return refunds;
  }
}
