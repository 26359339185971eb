/** The server's limiters, in real time: a memory store there, or its Redis. With each answer come the raw state and the commands it took. */
import { CARD_IDS, type CardId, type Policies } from '../cards/catalog.ts';
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
      const { resetAt, resetAfter } = answers[0]!;
      return { at: (resetAt - resetAfter) * 1000, client, cost, answers };
    });
  }

  async reset(): Promise<void> {
    this.raw.clear();
    this.commands.clear();
    await post('reset', {});
  }
}

/** Which engines the server that gave out this page has: none, when the page came from elsewhere. */
export async function findEngines(): Promise<readonly ServerEngineInfo[]> {
  try {
    const response = await fetch('api/lab/engines');
    return response.ok ? ((await response.json()) as { engines: readonly ServerEngineInfo[] }).engines : [];
  } catch {
    return [];
  }
}

async function post<Reply>(path: string, body: object): Promise<Reply> {
  const response = await fetch(`api/lab/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`The server answered ${response.status}: ${text.slice(0, 200)}`);
  return JSON.parse(text) as Reply;
}
