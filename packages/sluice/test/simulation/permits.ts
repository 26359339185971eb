/**
 * Many processes that hold permits, on virtual time: they enter, keep their permits alive too late or in time, release, crash, and what they send or are
 * answered gets lost or comes late. After every step the permits that their holders may rely on are counted. They must never be more than the limit.
 */
import { concurrency, createLimiter, type Limiter, manualClock, memoryStore, type Store } from '../../src/index.ts';
import { storeOver } from '../../src/store/index.ts';
import { mapPort } from '../support/map-port.ts';
import { type Random, randomFrom } from '../support/random.ts';

export interface PermitSimulation {
  readonly steps: number;
  /** Steps after which more permits were relied on than the limit allows. */
  readonly above: number;
  /** The most permits that were relied on at a time: a simulation that never reaches the limit shows nothing. */
  readonly most: number;
  readonly limit: number;
  readonly crashes: number;
  readonly lost: number;
  readonly late: number;
}

type Permit = Awaited<ReturnType<Limiter['enter']>>;

interface Process {
  limiter: Limiter;
  held: Permit[];
}

const PROCESSES = 8;
const TTL = 1000;

/** `trustsReplies` is a mistake that the simulation must find: a holder counts its time from the answer and not from the question. */
export async function simulatePermits(
  seed: number,
  steps: number,
  { overSwaps = false, trustsReplies = false } = {},
): Promise<PermitSimulation> {
  const random = randomFrom(seed);
  const clock = manualClock(1_763_280_000_000);
  const limit = random.whole(1, 6);
  const policy = concurrency({ limit, ttl: TTL });
  const inner: Store = overSwaps ? storeOver(mapPort(), { clock }) : memoryStore({ clock });
  const seen = { crashes: 0, lost: 0, late: 0 };
  const store = troubled(inner, random, clock, seen);
  // Time that a holder sees: with the mistake it stands still while a question is under way.
  const ownClock = { now: () => (trustsReplies ? clock.now() - store.underWayMs : clock.now()) };
  const sleep = (): Promise<void> => new Promise(() => {});
  const start = (): Process => ({
    limiter: createLimiter({ policy, store, timers: { clock: ownClock, sleep } }),
    held: [],
  });
  const processes = Array.from({ length: PROCESSES }, start);
  let [above, most] = [0, 0];
  for (let step = 0; step < steps; step += 1) {
    if (random.real() < 0.5) clock.advance(random.pick([0, 0.001, 1, 50, 300, random.whole(1, 2 * TTL)]));
    const at = random.whole(0, PROCESSES - 1);
    if (random.real() < 0.01) {
      // Its permits are nobody's any more, and nobody gives them back.
      seen.crashes += 1;
      processes[at] = start();
    } else await act(processes[at]!, random);
    for (const process of processes) process.held = process.held.filter(({ isHeld }) => isHeld);
    const relied = processes.reduce((sum, { held }) => sum + held.length, 0);
    most = Math.max(most, relied);
    if (relied > limit) above += 1;
  }
  return { steps, above, most, limit, ...seen };
}

async function act(process: Process, random: Random): Promise<void> {
  const permit = process.held.length > 0 ? random.pick(process.held) : undefined;
  const dice = random.real();
  try {
    if (permit === undefined || dice < 0.4) {
      const entered = await process.limiter.enter('gpu', { heartbeat: false });
      if (entered.allowed) process.held.push(entered);
    } else if (dice < 0.8) await permit.extend();
    else {
      process.held = process.held.filter((other) => other !== permit);
      await permit.release();
    }
  } catch {
    // Nothing is known: whoever holds a permit holds it until its time is over.
  }
}

/** A network between a process and its store: questions get lost, answers get lost, and answers come late. */
function troubled(
  inner: Store,
  random: Random,
  clock: ReturnType<typeof manualClock>,
  seen: { lost: number; late: number },
): Store & { underWayMs: number } {
  const store = {
    underWayMs: 0,
    async ask(question: Parameters<Store['ask']>[0]) {
      const dice = random.real();
      if (dice < 0.05) {
        seen.lost += 1;
        throw new Error('the question was lost');
      }
      const answer = await inner.ask(question);
      if (dice < 0.15) {
        seen.lost += 1;
        throw new Error('the answer was lost');
      }
      if (dice < 0.35) {
        seen.late += 1;
        const ms = random.whole(1, TTL * 1.5);
        clock.advance(ms);
        store.underWayMs += ms;
      }
      return answer;
    },
  };
  return store;
}
