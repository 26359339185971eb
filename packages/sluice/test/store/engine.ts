/** An engine that keeps values in a Map, and answers as an engine over a network does: later, in any order, or not at all. */
import type { SwapPort } from '../../src/store/index.ts';
import type { Random } from '../support/random.ts';

/** What becomes of a call: it is answered, it is lost before it is carried out, or its answer is lost. */
export type Fate = 'answered' | 'lost before' | 'lost after';

export class Engine {
  readonly values = new Map<string, { value: Uint8Array; version: number }>();
  readonly reads: string[] = [];
  readonly swaps: { key: string; bytes: number | undefined; ttlMs: number; isDone: boolean }[] = [];
  fateOf: (call: 'read' | 'swap', key: string) => Fate = () => 'answered';
  /** Swaps of each key that are under way, and the most that ever were. */
  readonly underWay = new Map<string, number>();
  mostUnderWay = 0;
  #versions = 0;

  read(key: string): { value: Uint8Array; version: number } | undefined {
    this.reads.push(key);
    return this.values.get(key);
  }

  swap(key: string, next: Uint8Array | undefined, expected: unknown, ttlMs: number): boolean {
    const isDone = this.values.get(key)?.version === expected;
    this.swaps.push({ key, bytes: next?.length, ttlMs, isDone });
    if (!isDone) return false;
    this.#versions += 1;
    // A copy: what a caller does with its bytes later is none of the engine's.
    if (next === undefined) this.values.delete(key);
    else this.values.set(key, { value: next.slice(), version: this.#versions });
    return true;
  }

  /** Answers with values. */
  get port(): SwapPort {
    return { read: (key) => this.read(key), swap: (...swap) => this.swap(...swap) };
  }

  /** Answers with promises, each after a random number of turns on both ways. */
  slowPort(random: Random): SwapPort {
    return {
      read: (key) => this.#call(random, 'read', key, () => this.read(key)),
      swap: (key, ...rest) => {
        const now = (this.underWay.get(key) ?? 0) + 1;
        this.underWay.set(key, now);
        this.mostUnderWay = Math.max(this.mostUnderWay, now);
        const answer = this.#call(random, 'swap', key, () => this.swap(key, ...rest));
        const done = (): void => void this.underWay.set(key, this.underWay.get(key)! - 1);
        return answer.finally(done);
      },
    };
  }

  async #call<T>(random: Random, call: 'read' | 'swap', key: string, act: () => T): Promise<T> {
    const fate = this.fateOf(call, key);
    await turns(random.whole(1, 6));
    if (fate === 'lost before') throw new Error('connection lost');
    const answer = act();
    await turns(random.whole(1, 6));
    if (fate === 'lost after') throw new Error('connection lost');
    return answer;
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await undefined;
}
