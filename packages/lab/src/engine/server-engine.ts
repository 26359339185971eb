/** The server's limiters, in real time: a memory store there, or its Redis. With each answer come the raw state and the commands it took. */
import type { Row } from '../model/row.ts';
import { authorization, savedToken } from '../token/token.ts';
import type { Answer } from '../trace/answers.ts';
import type { Arrival, RowId } from '../trace/trace.ts';
import type { Answered, Engine, EngineKind, RawState } from './engine.ts';
import { Unreachable } from './watch.ts';

interface ServerAnswer extends Answer {
  readonly resetAt: number;
}

interface AttemptReply {
  readonly results: readonly ServerAnswer[];
  readonly raw: readonly (RawState | null)[];
  readonly commandNames: readonly (Readonly<Record<string, number>> | null)[];
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
  readonly name: string;
  readonly isVirtual = false;
  readonly raw = new Map<RowId, RawState | null>();
  readonly commands = new Map<RowId, Readonly<Record<string, number>>>();

  constructor(kind: Exclude<EngineKind, 'browser'>) {
    this.kind = kind;
    this.name = kind === 'redis' ? 'Redis' : 'The server';
  }

  async ask(arrivals: readonly Arrival[], clients: readonly string[], rows: readonly Row[]): Promise<Answered[]> {
    const answered: Answered[] = [];
    for (let from = 0; from < arrivals.length; from += BATCH) {
      answered.push(...(await this.#askSome(arrivals.slice(from, from + BATCH), clients, rows)));
    }
    return answered;
  }

  async #askSome(arrivals: readonly Arrival[], clients: readonly string[], rows: readonly Row[]): Promise<Answered[]> {
    const asked = arrivals.map(({ only }) => rows.filter(({ id }) => only === undefined || only === id));
    const attempts = arrivals.flatMap(({ client, cost }, index) =>
      asked[index]!.map(({ id, charges }) => ({ card: id, policy: charges[0]!.policy, key: clients[client]!, cost })),
    );
    const { results, raw, commandNames } = await post<AttemptReply>('attempt', { engine: this.kind, attempts });
    attempts.forEach(({ card }, index) => {
      // Of several attempts on one state only the last was looked at.
      if (commandNames[index] === null) return;
      this.raw.set(card, raw[index] ?? null);
      this.commands.set(card, commandNames[index] ?? {});
    });
    let next = 0;
    return arrivals.map(({ client, cost }, index) => {
      const own = results.slice(next, next + asked[index]!.length);
      next += own.length;
      const answers = rows.map((row) => own[asked[index]!.indexOf(row)]);
      return { at: timeOf(own[0]!), client, cost, answers };
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
  }).catch(() => {
    throw new Unreachable('The server does not answer. Is it still running?');
  });
  if (response.ok) return (await response.json()) as Reply;
  if (response.status === 503) {
    throw new Unreachable('Redis does not answer the server. Requests that you send now are lost.');
  }
  throw new Error(await whyRefused(response));
}

/** As a sentence. What a field is called in the request means nothing to people who see a page. */
async function whyRefused(response: Response): Promise<string> {
  const body = (await response.json().catch(() => ({}))) as { readonly error?: string; readonly message?: string };
  if (response.status === 401) return 'The server asks for its token.';
  if (body.error === 'too_many_states') return 'This session has too many states on the server. Reset all counters.';
  const fact = body.message?.replace(/^attempts\[\d+\]\.(policy\.)?/, '');
  return fact === undefined
    ? `The server answered with status ${response.status}.`
    : `The server does not take this: ${fact}.`;
}
