/**
 * The lab on Redis. Each attempt is the library's own script call, in a transaction with looks before and after it: nobody else's commands come
 * between, so what is counted is what this attempt costs, and the state is the one it left, on a server that others use as well.
 */
import type { Redis } from 'ioredis';
import { createLimiter, type Policy } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import { type RunScript, redisStoreOver, type Script, stateName } from 'sluice/redis';
import { StoreError } from '../service/http-error.ts';
import { within } from '../service/within.ts';
import type { Attempt, Engine, Observed, RawState } from './engine.ts';
import { printable, reading } from './readable-state.ts';

export interface RedisEngineOptions {
  readonly client: Redis;
  /** Goes before every key. */
  readonly prefix: string;
  readonly description: string;
  /** How long Redis may take for what is asked at once, in milliseconds. Default: 10 s. */
  readonly patienceMs?: number | undefined;
}

const PATIENCE_MS = 10_000;

export function redisEngine(options: RedisEngineOptions): Engine {
  const { client, prefix, description, patienceMs = PATIENCE_MS } = options;
  const store = redisStore(client, { raw: true, prefix });
  const limiter = createLimiter<{ readonly policy: Policy }>({ policy: ({ policy }) => policy, store });
  const knownScripts = new Set<string>();

  const attemptUnseen = async ({ key, policy, cost }: Attempt): Promise<Observed> => {
    return { result: await limiter.attempt(key, { cost, context: { policy } }), raw: null, commands: null };
  };

  const attemptSeen = async ({ key, policy, cost }: Attempt): Promise<Observed> => {
    let seen: Seen | undefined;
    const run: RunScript = async (script, keys, args) => {
      seen = await watched(client, knownScripts, script, keys, args);
      return seen.reply;
    };
    const watchedStore = redisStoreOver(run, { prefix }, { most: 1, bySlot: false });
    const result = await createLimiter({ policy, store: watchedStore }).attempt(key, { cost });
    return { result, raw: seen === undefined ? null : rawOf(seen, policy), commands: seen?.commands ?? null };
  };

  /** To look costs more than to decide, so of many attempts only the last on each state is looked at, after all others. */
  const attemptAll = async (attempts: readonly Attempt[]): Promise<readonly Observed[]> => {
    const last = new Map(attempts.map((attempt, index) => [stateOf(attempt), index]));
    const isLast = attempts.map((attempt, index) => last.get(stateOf(attempt)) === index);
    const unseen = await Promise.all(
      attempts.map((attempt, index) => (isLast[index] ? undefined : attemptUnseen(attempt))),
    );
    return Promise.all(attempts.map((attempt, index) => unseen[index] ?? attemptSeen(attempt)));
  };

  return {
    name: 'redis',
    description,
    attempt: (attempts) => within(patienceMs, attemptAll(attempts)).catch(asStoreError),
    forget: async ({ key, policy }) => {
      await within(patienceMs, Promise.resolve(store.ask({ verb: 'forget', key, policies: [policy] }))).catch(
        asStoreError,
      );
    },
  };
}

function stateOf({ key, policy }: Attempt): string {
  return stateName(key, policy);
}

function asStoreError(cause: unknown): never {
  throw new StoreError('Redis did not answer the lab', { cause });
}

/** What one transaction brought back. */
interface Seen {
  readonly reply: unknown;
  readonly commands: Readonly<Record<string, number>>;
  readonly key: string;
  readonly type: string;
  readonly value: Buffer;
  readonly length: number;
  readonly ttlMs: number;
  readonly memoryBytes: number | null;
}

/** More of a value than this is not asked for, and of that not more than this is shown. Only a long log has more. */
const READ_BYTES = 16_384;
const SHOWN_BYTES = 64;

/** A script that the server may not know yet goes along whole. */
async function watched(
  client: Redis,
  knownScripts: Set<string>,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<Seen> {
  const isKnown = knownScripts.has(script.sha1);
  try {
    const seen = await transaction(client, isKnown ? ['EVALSHA', script.sha1] : ['EVAL', script.source], keys, args);
    knownScripts.add(script.sha1);
    return seen;
  } catch (error) {
    if (!isKnown || !/NOSCRIPT/.test(String(error))) throw error;
    // Nothing ran, so nothing was spent.
    knownScripts.delete(script.sha1);
    return watched(client, knownScripts, script, keys, args);
  }
}

async function transaction(
  client: Redis,
  [command, script]: [string, string],
  keys: readonly string[],
  args: readonly string[],
): Promise<Seen> {
  const [key = ''] = keys;
  const replies = await client
    .multi()
    .info('commandstats')
    .call(command, script, keys.length, ...keys, ...args)
    .info('commandstats')
    .type(key)
    .getrangeBuffer(key, 0, READ_BYTES - 1)
    .strlen(key)
    .pttl(key)
    .memory('USAGE', key)
    .exec();
  if (replies === null) throw new Error('the transaction was not carried out');
  const failure = replies.find(([error]) => error !== null)?.[0];
  if (failure) throw failure;
  const [before, reply, after, type, value, length, ttlMs, memoryBytes] = replies.map(([, answer]) => answer);
  return {
    reply,
    commands: difference(callsIn(String(before)), callsIn(String(after))),
    ...{ key, type: String(type), value: value as Buffer, length: Number(length), ttlMs: Number(ttlMs) },
    memoryBytes: typeof memoryBytes === 'number' ? memoryBytes : null,
  };
}

function callsIn(info: string): ReadonlyMap<string, number> {
  return new Map([...info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].map(([, name, calls]) => [name!, Number(calls)]));
}

/** Without INFO, which is how one looks. */
function difference(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Record<string, number> {
  const grown = [...after].map(([name, calls]): [string, number] => [name, calls - (before.get(name) ?? 0)]);
  return Object.fromEntries(grown.filter(([name, calls]) => calls > 0 && name !== 'info'));
}

function rawOf({ key, type, value, length, ttlMs, memoryBytes }: Seen, policy: Policy): RawState | null {
  if (type === 'none') return null;
  return {
    ...{ key, type, memoryBytes },
    value: `${printable(value.subarray(0, SHOWN_BYTES))}${length > SHOWN_BYTES ? ` ... (${length} bytes)` : ''}`,
    reading: reading(value, policy),
    ttlMs: ttlMs < 0 ? null : ttlMs,
  };
}
