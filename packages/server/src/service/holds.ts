/**
 * Reservations that wait for their settlement. They are kept in this process, so whoever reserved here has to settle here; one that is
 * lost, with the process or with its time, counts as spent, which is the safe side. There are never more than `maxHolds`.
 */
import { randomUUID } from 'node:crypto';
import type { Hold } from 'sluice';
import { HttpError } from './http-error.ts';

interface Kept {
  readonly hold: Hold;
  /** Milliseconds on the clock of `performance.now`. */
  readonly expiresAt: number;
}

export class Holds {
  readonly #kept = new Map<string, Kept>();
  readonly #maxHolds: number;
  /** Asked for and not here yet: they have a place too. */
  #coming = 0;

  constructor(maxHolds: number) {
    this.#maxHolds = maxHolds;
  }

  /** Those that can still be settled. */
  get size(): number {
    this.#forgetExpired();
    return this.#kept.size;
  }

  /** Takes the place before anything is spent. */
  async add(ttlMs: number, reserve: () => Promise<Hold>): Promise<{ id: string | undefined; hold: Hold }> {
    const expiresAt = performance.now() + ttlMs;
    this.#makeRoom();
    this.#coming += 1;
    try {
      const hold = await reserve();
      if (!hold.allowed) return { id: undefined, hold };
      const id = randomUUID();
      this.#kept.set(id, { hold, expiresAt });
      return { id, hold };
    } finally {
      this.#coming -= 1;
    }
  }

  /** Each only once. */
  take(id: string): Hold {
    const kept = this.#kept.get(id);
    this.#kept.delete(id);
    if (kept !== undefined && performance.now() < kept.expiresAt) return kept.hold;
    throw new HttpError(
      404,
      'unknown_hold',
      'There is no such hold here: it was settled, has run out, or is of another process.',
      {
        path: 'hold',
      },
    );
  }

  #makeRoom(): void {
    if (this.#kept.size + this.#coming < this.#maxHolds) return;
    this.#forgetExpired();
    if (this.#kept.size + this.#coming < this.#maxHolds) return;
    const headers = { 'Retry-After': '1' };
    throw new HttpError(503, 'too_many_holds', `There are ${this.#maxHolds} holds already.`, { headers });
  }

  #forgetExpired(): void {
    const now = performance.now();
    for (const [id, { expiresAt }] of this.#kept) if (expiresAt <= now) this.#kept.delete(id);
  }
}
