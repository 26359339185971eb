/** The states of a key in Redis, decoded, with what surrounds them: expiry, memory, and how much is left where the policy is known. */
import { Cluster } from 'ioredis';
import { createLimiter, type Policy, SluiceError } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import {
  type InspectedState,
  inspectState,
  parseStateName,
  type StateName,
  stateName,
  statePattern,
} from 'sluice/redis';
import type { Config } from '../config/config.ts';
import { effectivePolicy } from '../config/effective.ts';
import type { RedisClient } from './redis-client.ts';

export interface Inspection {
  readonly key: string;
  readonly prefix?: string | undefined;
  readonly hashKeys?: boolean | undefined;
  /** Undefined: the numbers of policies are not known. */
  readonly config?: Config | undefined;
  /** Names of policies. Undefined: whatever there is. */
  readonly only?: readonly string[] | undefined;
}

export interface Left {
  readonly remaining: number;
  readonly limit: number;
  /** Seconds. */
  readonly resetAfter: number;
}

interface Surroundings extends Pick<StateName, 'policy' | 'kind'> {
  /** In Redis. */
  readonly name: string;
  /** Below 0: it never expires, which no state of ours does. */
  readonly ttlMs: number;
  /** Null where the server does not say. */
  readonly memoryBytes: number | null;
  readonly value: Uint8Array;
}

export type SeenState = Surroundings &
  (
    | (Omit<InspectedState, 'kind'> & { readonly left: Left | null })
    /** The value is none of ours. */
    | { readonly problem: string }
  );

export interface Inspected {
  /** The server's Unix time in seconds. */
  readonly at: number;
  readonly states: readonly SeenState[];
}

export async function readStates(client: RedisClient, inspection: Inspection): Promise<Inspected> {
  const [seconds, micros] = (await client.call('TIME')) as [string, string];
  const names = await namesOf(client, inspection);
  const states = await Promise.all(names.map((name) => readState(client, name, inspection)));
  const found = states.filter((state) => state !== undefined);
  const byPolicy = found.sort((one, other) => (one.name < other.name ? -1 : 1));
  return { at: Number(seconds) + Number(micros) / 1e6, states: byPolicy };
}

/** Where the config has every policy that is asked for, its names are known; else whoever is there has to be found. */
async function namesOf(client: RedisClient, inspection: Inspection): Promise<string[]> {
  const { key, config, only, prefix, hashKeys } = inspection;
  const known = only?.map((name) => config?.policies.get(name));
  if (known?.every((named) => named !== undefined)) {
    return known.map(({ policy }) => stateName(key, policy, { prefix, hashKeys }));
  }
  const names = await scan(client, statePattern(key, { prefix, hashKeys }));
  return names.filter((name) => {
    const parsed = parseStateName(name, { prefix });
    return parsed !== undefined && (only === undefined || only.includes(parsed.policy ?? ''));
  });
}

async function scan(client: RedisClient, pattern: string): Promise<string[]> {
  const servers = client instanceof Cluster ? client.nodes('master') : [client];
  const names = new Set<string>();
  for (const server of servers) {
    for await (const page of server.scanStream({ match: pattern, count: 1000 }))
      for (const name of page) names.add(name);
  }
  return [...names];
}

async function readState(client: RedisClient, name: string, inspection: Inspection): Promise<SeenState | undefined> {
  const [value, ttlMs, memoryBytes] = await Promise.all([
    client.getBuffer(name),
    client.pttl(name),
    client.call('MEMORY', 'USAGE', name).then(Number, () => null),
  ]);
  const parsed = parseStateName(name, { prefix: inspection.prefix });
  if (value === null || parsed === undefined) return undefined;
  const { policy, kind } = parsed;
  const surroundings = { policy, kind, name, ttlMs, memoryBytes, value };
  try {
    const { state, times, blockedUntil } = inspectState(kind, value);
    return { ...surroundings, state, times, blockedUntil, left: await leftOf(client, name, parsed, inspection) };
  } catch (error) {
    if (error instanceof SluiceError) return { ...surroundings, problem: 'not a state of this version' };
    throw error;
  }
}

/** Null where the config does not know the policy, or has another algorithm under its name. */
async function leftOf(
  client: RedisClient,
  name: string,
  { policy }: StateName,
  { key, config, prefix, hashKeys }: Inspection,
): Promise<Left | null> {
  const named = policy === undefined ? undefined : config?.policies.get(policy);
  if (named === undefined || stateName(key, named.policy, { prefix, hashKeys }) !== name) return null;
  const effective: Policy = effectivePolicy(named, { key, now: Date.now() }).policy;
  const store = redisStore(client, { raw: true, prefix, hashKeys });
  const { remaining, limit, resetAfter } = await createLimiter({ policy: effective, store }).peek(key);
  return { remaining, limit, resetAfter };
}
