/** The library itself, in this page: a limiter and a memory store for each card, all on one clock that goes where it is told. */
import { createLimiter, type Limiter, manualClock, memoryStore, type Policy } from 'sluice';
import { CARD_IDS, type CardId, type Policies } from '../cards/catalog.ts';
import type { Answered, Engine } from './engine.ts';
import type { Answer, Arrival } from './trace.ts';

interface Seat {
  readonly policy: Policy;
  readonly limiter: Limiter;
}

export class BrowserEngine implements Engine {
  readonly kind = 'browser';
  readonly isVirtual = true;
  readonly raw: Engine['raw'] = new Map();
  readonly commands: Engine['commands'] = new Map();
  readonly #clock = manualClock(0);
  #seats = new Map<CardId, Seat>();

  /** The memory store decides at once, so the clock can move on before the promises are read. */
  async ask(arrivals: readonly Arrival[], clients: readonly string[], policies: Policies): Promise<Answered[]> {
    const answered = arrivals.map(async ({ at, client, cost }) => {
      this.#clock.set(at);
      const promises = CARD_IDS.map((id) => this.#limiterOf(id, policies[id]).attempt(clients[client]!, { cost }));
      return { at, client, cost, answers: await Promise.all(promises) };
    });
    return Promise.all(answered);
  }

  /** The same arrivals through one card from the start: what its answers would have been under another policy, whose limiter is a new one. */
  async replay(
    id: CardId,
    policy: Policy,
    arrivals: readonly Arrival[],
    clients: readonly string[],
  ): Promise<readonly Answer[]> {
    const limiter = this.#limiterOf(id, policy);
    const answers = arrivals.map(({ at, client, cost }) => {
      this.#clock.set(at);
      return limiter.attempt(clients[client]!, { cost });
    });
    return Promise.all(answers);
  }

  async reset(): Promise<void> {
    this.#seats = new Map();
  }

  async readClock(): Promise<number> {
    return this.#clock.now();
  }

  #limiterOf(id: CardId, policy: Policy): Limiter {
    const seat = this.#seats.get(id);
    if (seat?.policy === policy) return seat.limiter;
    const limiter = createLimiter({ policy, store: memoryStore({ clock: this.#clock, maxKeys: 100 }) });
    this.#seats.set(id, { policy, limiter });
    return limiter;
  }
}
