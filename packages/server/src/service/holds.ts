/**
 * Reservations that wait for their settlement. They are kept in this process. Where several processes answer on one port, the id of a hold says
 * which of them has it, and the others pass the settlement on. Whoever reserved at this server has to settle at this server. A hold that is lost,
 * with the process or with its time, counts as spent, which is the safe side. Places are bounded, in all and for each caller, so that nobody can take
 * them all and never settle.
 */
import { randomUUID } from 'node:crypto';
import type { Cost, Hold } from 'sluice';
import type { Crew } from './crew.ts';
import { HttpError } from './http-error.ts';

export interface HoldLimits {
  /** Holds of all callers together. */
  readonly most: number;
  readonly mostPerCaller: number;
}

interface Kept {
  readonly hold: Hold<Cost>;
  readonly caller: string;
  /** Milliseconds on the clock of `performance.now`. */
  readonly expiresAt: number;
}

const UNKNOWN_HOLD =
  'This server has no such hold: it was settled, its ttl is over, or another server made it. A hold lives in the server that made it: ' +
  'send reserve and settle to the same one, for example with sessionAffinity: ClientIP in Kubernetes.';

export class Holds {
  readonly #kept = new Map<string, Kept>();
  readonly #limits: HoldLimits;
  readonly #crew: Crew | undefined;
  /** Places by caller, with those that are asked for and not here yet. */
  readonly #places = new Map<string, number>();
  #taken = 0;
  /** None ends before this: until then nobody looks through all of them, however often there is no place. */
  #nextExpiry = Number.POSITIVE_INFINITY;

  /** `crew`: the processes beside this one, if there are any. */
  constructor(limits: HoldLimits, crew?: Crew) {
    this.#limits = limits;
    this.#crew = crew;
  }

  /** Holds that can still be settled. */
  get size(): number {
    this.#forgetExpired();
    return this.#kept.size;
  }

  /** Takes the place before anything is spent. */
  async add(
    caller: string,
    ttlMs: number,
    reserve: () => Promise<Hold<Cost>>,
  ): Promise<{ id: string | undefined; hold: Hold<Cost> }> {
    const expiresAt = performance.now() + ttlMs;
    this.#takePlace(caller);
    let id: string | undefined;
    try {
      const hold = await reserve();
      if (hold.allowed) {
        id = this.#crew === undefined ? randomUUID() : `${randomUUID()}.${this.#crew.id}`;
        this.#kept.set(id, { hold, caller, expiresAt });
        this.#nextExpiry = Math.min(this.#nextExpiry, expiresAt);
      }
      return { id, hold };
    } finally {
      if (id === undefined) this.#leavePlace(caller);
    }
  }

  /** Each only once, wherever it is. */
  async settle(id: string, actual: Cost): Promise<object> {
    const home = Number(/\.(\d{1,9})$/.exec(id)?.[1] ?? this.#crew?.id);
    if (this.#crew === undefined || home === this.#crew.id) return this.#take(id).commit(actual);
    const settled = await this.#crew.settle(home, id, actual);
    if (settled === undefined) throw unknownHold();
    return settled;
  }

  #take(id: string): Hold<Cost> {
    const kept = this.#kept.get(id);
    if (kept !== undefined) this.#drop(id, kept);
    if (kept !== undefined && performance.now() < kept.expiresAt) return kept.hold;
    throw unknownHold();
  }

  #takePlace(caller: string): void {
    if (!this.#hasPlace(caller)) this.#forgetExpired();
    if (!this.#hasPlace(caller)) throw this.#tooMany(caller);
    this.#places.set(caller, this.#placesOf(caller) + 1);
    this.#taken += 1;
  }

  #hasPlace(caller: string): boolean {
    return this.#taken < this.#limits.most && this.#placesOf(caller) < this.#limits.mostPerCaller;
  }

  #placesOf(caller: string): number {
    return this.#places.get(caller) ?? 0;
  }

  #tooMany(caller: string): HttpError {
    const { most, mostPerCaller } = this.#limits;
    const isOwn = this.#placesOf(caller) >= mostPerCaller;
    const whose = isOwn ? `You have ${mostPerCaller} holds` : `There are ${most} holds`;
    const message = `${whose} that are not settled. Settle some, or wait until their ttl is over.`;
    return new HttpError(503, 'too_many_holds', message, { headers: { 'Retry-After': '1' } });
  }

  #leavePlace(caller: string): void {
    this.#taken -= 1;
    const left = this.#placesOf(caller) - 1;
    if (left === 0) this.#places.delete(caller);
    else this.#places.set(caller, left);
  }

  #drop(id: string, { caller }: Kept): void {
    this.#kept.delete(id);
    this.#leavePlace(caller);
  }

  #forgetExpired(): void {
    const now = performance.now();
    if (now < this.#nextExpiry) return;
    this.#nextExpiry = Number.POSITIVE_INFINITY;
    for (const [id, kept] of this.#kept) {
      if (kept.expiresAt <= now) this.#drop(id, kept);
      else this.#nextExpiry = Math.min(this.#nextExpiry, kept.expiresAt);
    }
  }
}

function unknownHold(): HttpError {
  return new HttpError(404, 'unknown_hold', UNKNOWN_HOLD, { path: 'hold' });
}
