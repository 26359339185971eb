/** The server's limiters, in real time: a memory store there, or its Redis. With each answer come the raw state and the commands it took. */
import { CARD_IDS, type CardId, type Policies } from '../cards/catalog.ts';
import { authorization, savedToken } from '../token/token.ts';
import type { Answered, Engine, EngineKind, RawState } from './engine.ts';
import type { Answer, Arrival } from './trace.ts';

interface ServerAnswer extends Answer {
  readonly resetAt: number;
}

interface AttemptReply {
  readonly results: readonly ServerAnswer[];
  readonly raw: readonly (RawState | null)[];
  readonly commandNames: readonly Readonly<Record<string, number>>[];
}

/** An engine the server knows, and in words what it is, or why it is not there. */
export interface ServerEngineInfo {
  readonly name: Exclude<EngineKind, 'browser'>;
  readonly available: boolean;
  readonly description: string;
}

/** Attempts in one request. */
const BATCH = 32;

export class ServerEngine implements Engine {
  readonly kind: Exclude<EngineKind, 'browser'>;
  readonly isVirtual = false;
  readonly raw = new Map<CardId, RawState | null>();
  readonly commands = new Map<CardId, Readonly<Record<string, number>>>();

  constructor(kind: Exclude<EngineKind, 'browser'>) {
    this.kind = kind;
  }

  async ask(arrivals: readonly Arrival[], clients: readonly string[], policies: Policies): Promise<Answered[]> {
    const answered: Answered[] = [];
    for (let from = 0; from < arrivals.length; from += BATCH) {
      answered.push(...(await this.#askSome(arrivals.slice(from, from + BATCH), clients, policies)));
    }
    return answered;
  }

  async #askSome(arrivals: readonly Arrival[], clients: readonly string[], policies: Policies): Promise<Answered[]> {
    const attempts = arrivals.flatMap(({ client, cost }) =>
      CARD_IDS.map((card) => ({ card, policy: policies[card], key: clients[client]!, cost })),
    );
    const { results, raw, commandNames } = await post<AttemptReply>('attempt', { engine: this.kind, attempts });
    CARD_IDS.forEach((id, index) => {
      const last = results.length - CARD_IDS.length + index;
      this.raw.set(id, raw[last] ?? null);
      this.commands.set(id, commandNames[last] ?? {});
    });
    return arrivals.map(({ client, cost }, index) => {
      const answers = results.slice(index * CARD_IDS.length, (index + 1) * CARD_IDS.length);
      return { at: timeOf(answers[0]!), client, cost, answers };
    });
  }

  async reset(): Promise<void> {
    this.raw.clear();
    this.commands.clear();
    await post('reset', {});
  }

  /** A look, which spends nothing and leaves nothing behind. */
  async readClock(): Promise<number> {
    const attempts = [{ card: 'clock', policy: CLOCK, cost: 0 }];
    const { results } = await post<AttemptReply>('attempt', { engine: this.kind, attempts });
    return timeOf(results[0]!);
  }
}

/** Any policy will do. */
const CLOCK = { algorithm: 'gcra', limit: 1, period: '1s' };

/** When it was decided, on the clock of whoever did, in milliseconds. */
function timeOf({ resetAt, resetAfter }: ServerAnswer): number {
  return (resetAt - resetAfter) * 1000;
}

/** Which engines the server that gave out this page has: none, when the page came from elsewhere. `locked`: it says so only to those with its token. */
export async function findEngines(): Promise<readonly ServerEngineInfo[] | 'locked'> {
  try {
    const response = await fetch('api/lab/engines', { headers: authorization(savedToken()) });
    if (response.status === 401) return 'locked';
    return response.ok ? ((await response.json()) as { engines: readonly ServerEngineInfo[] }).engines : [];
  } catch {
    return [];
  }
}

async function post<Reply>(path: string, body: object): Promise<Reply> {
  const response = await fetch(`api/lab/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization(savedToken()) },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status === 401) throw new Error('The server asks for its token.');
  if (!response.ok) throw new Error(`The server answered ${response.status}: ${text.slice(0, 200)}`);
  return JSON.parse(text) as Reply;
}
