/**
 * Holds under everything that can go wrong, on virtual time: several servers that reserve, and settle by token or by hold, twice, late, after a kill, with
 * replies that are lost before or after the store has acted, and a store that fails over to a replica which has not heard of the last changes. An oracle
 * sees what the store that answers has acted on, counts by itself, and is compared with it after every step.
 */
import {
  createLimiter,
  fixedWindow,
  type Hold,
  type ManualClock,
  manualClock,
  type Policy,
  type Settlement,
  type Store,
  slidingWindowLog,
} from '../../src/index.ts';
import { type Answer, checksOf, type Question } from '../../src/model/store.ts';
import { storeOver } from '../../src/store/store-over.ts';
import { type Random, randomFrom } from '../support/random.ts';

export interface HoldsSeen {
  steps: number;
  /** Settlements that were carried out, that came too late, and that came again. */
  settled: number;
  late: number;
  again: number;
  failovers: number;
  faults: string[];
}

const LIMIT = 1000;
const TTL_MS = 3000;
const KEY = 'someone';
/** Nothing comes back by itself within a run, so the oracle can count. */
const POLICIES: readonly Policy[] = [
  fixedWindow({ name: 'window', limit: LIMIT, window: 100 * 365 * 86_400_000, align: 'first' }),
  slidingWindowLog({ name: 'log', limit: LIMIT, window: 365 * 86_400_000 }),
];

/** What a server of the store has counted: units, and holds that are open, by the id of their mark. */
interface Counted {
  spent: number;
  readonly open: Map<string, { readonly cost: number; readonly ends: number }>;
}

interface Server {
  readonly values: Map<string, { value: Uint8Array; version: number }>;
  readonly counted: Counted;
}

const copyOf = ({ values, counted }: Server): Server => ({
  values: new Map(values),
  counted: { spent: counted.spent, open: new Map(counted.open) },
});

/** The store, with an oracle beside it, which loses replies and fails over. */
class World {
  readonly clock: ManualClock = manualClock(1_763_280_000_000);
  readonly faults: string[] = [];
  fate: 'answered' | 'lost before' | 'lost after' = 'answered';
  #versions = 0;
  #master: Server = { values: new Map(), counted: { spent: 0, open: new Map() } };
  #replica: Server = copyOf(this.#master);
  readonly #inner: Store = storeOver(
    {
      read: (key) => this.#master.values.get(key),
      swap: (key, next, expected) => {
        const { values } = this.#master;
        if (values.get(key)?.version !== expected) return false;
        this.#versions += 1;
        if (next === undefined) values.delete(key);
        else values.set(key, { value: next, version: this.#versions });
        return true;
      },
    },
    { clock: this.clock },
  );

  get counted(): Counted {
    return this.#master.counted;
  }

  readonly store: Store = {
    ask: async (question) => {
      const { fate } = this;
      this.fate = 'answered';
      if (fate === 'lost before') throw new Error('the reply is lost');
      const answer = await this.#inner.ask(question);
      this.#count(question, answer);
      if (fate === 'lost after') throw new Error('the reply is lost');
      return answer;
    },
  };

  #count(question: Question, answer: Answer): void {
    const { counted } = this;
    const now = this.clock.now() * 1e3;
    if (question.verb === 'attempt' && !question.dryRun && question.cost > 0) {
      const isAllowed = counted.spent + question.cost <= LIMIT;
      if (answer.allowed !== isAllowed) this.faults.push(`an attempt of ${question.cost} at ${counted.spent} spent`);
      if (!isAllowed) return;
      counted.spent += question.cost;
      const { mark } = question;
      if (mark !== undefined) counted.open.set(mark.id, { cost: checksOf(question)[0]!.cost, ends: now + mark.ttl });
    }
    if (question.verb !== 'change') return;
    if (question.settles !== undefined && !this.#isSettled(question.settles.id, answer, now)) return;
    for (const change of question.changes) {
      if (change.policy !== POLICIES[0] && change.policy.name !== POLICIES[0]!.name) continue;
      if (change.verb === 'refund') counted.spent -= change.cost;
      if (change.verb === 'penalize') counted.spent = Math.min(LIMIT, counted.spent + change.cost);
    }
  }

  #isSettled(id: string, { mark }: Answer, now: number): boolean {
    const hold = this.counted.open.get(id);
    const isOpen = hold !== undefined && hold.ends > now;
    if ((mark === 'found') !== isOpen) this.faults.push(`a hold that is ${isOpen ? '' : 'not '}open is ${mark}`);
    this.counted.open.delete(id);
    return isOpen;
  }

  replicate(): void {
    const { open } = this.counted;
    // What has ended is not open, whether it is remembered or not: without it a run of any length takes the same memory.
    for (const [id, { ends }] of open) if (ends <= this.clock.now() * 1e3) open.delete(id);
    this.#replica = copyOf(this.#master);
  }

  failOver(): void {
    this.#master = copyOf(this.#replica);
  }

  /** What the store says is left must be what the oracle has counted. */
  async check(where: string): Promise<void> {
    const { decisions } = await createLimiter({ policies: POLICIES, store: this.#inner }).peek(KEY, { cost: 0 });
    const left = LIMIT - this.counted.spent;
    if (decisions.some(({ remaining }) => remaining !== left)) {
      this.faults.push(`${where}: ${decisions.map(({ remaining }) => remaining)} left, and ${left} counted`);
    }
  }
}

export async function simulateHolds(seed: number, steps: number): Promise<HoldsSeen> {
  const random = randomFrom(seed);
  const world = new World();
  const seen: HoldsSeen = { steps: 0, settled: 0, late: 0, again: 0, failovers: 0, faults: world.faults };
  const timers = { clock: world.clock, sleep: () => new Promise<void>(() => {}) };
  const servers = Array.from({ length: 4 }, () => createLimiter({ policies: POLICIES, store: world.store, timers }));
  /** Those that a server holds, and those of which only the token is left. */
  const holds: Hold[] = [];
  const tokens: string[] = [];
  for (; seen.steps < steps && world.faults.length === 0; seen.steps += 1) {
    world.clock.advance(random.whole(0, 400));
    if (random.real() < 0.3) world.replicate();
    if (random.real() < 0.01) {
      world.failOver();
      seen.failovers += 1;
    }
    if (random.real() < 0.15) world.fate = random.pick(['lost before', 'lost after']);
    await stepOf(random, servers, holds, tokens, seen);
    world.fate = 'answered';
    await world.check(`step ${seen.steps}`);
    // Nothing comes back by itself: when too little is left, the key is reset, and all holds with it.
    if (LIMIT - world.counted.spent < 100) {
      await servers[0]!.reset(KEY);
      world.counted.spent = 0;
      for (const each of [holds, tokens]) each.length = 0;
      world.replicate();
    }
  }
  return seen;
}

async function stepOf(
  random: Random,
  servers: readonly ReturnType<typeof createLimiter>[],
  holds: Hold[],
  tokens: string[],
  seen: HoldsSeen,
): Promise<void> {
  const server = random.pick(servers);
  const dice = random.real();
  try {
    if (dice < 0.4) {
      const hold = await server.reserve(KEY, { cost: random.whole(1, 40), ttl: TTL_MS });
      if (!hold.allowed) return;
      // A server that is killed leaves the token it has sent away.
      if (random.real() < 0.7) tokens.push(hold.token!);
      if (random.real() < 0.6) holds.push(hold);
    } else if (dice < 0.5) {
      await server.attempt(KEY, { cost: random.whole(1, 10) });
    } else if (dice < 0.75 && tokens.length > 0) {
      note(seen, await server.settle(takenFrom(tokens, random, 0.6), random.whole(0, 60)));
    } else if (holds.length > 0) {
      note(seen, await takenFrom(holds, random, 0.7).commit(random.whole(0, 60)));
    }
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'SLUICE_HOLD_SETTLED') seen.again += 1;
    else if ((error as Error).message !== 'the reply is lost') throw error;
  }
}

/** Sometimes it stays, to be settled again. */
function takenFrom<T>(list: T[], random: Random, chance: number): T {
  const at = random.whole(0, list.length - 1);
  return random.real() < chance ? list.splice(at, 1)[0]! : list[at]!;
}

function note(seen: HoldsSeen, { expired }: Settlement): void {
  if (expired) seen.late += 1;
  else seen.settled += 1;
}
