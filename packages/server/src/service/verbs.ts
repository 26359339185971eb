/** The verbs of the API: one JSON object in, one out. Each is the limiter's verb of that name. */
import type { Duration, MaybePromise, RateLimitResult } from 'sluice';
import { type Fields, isFields, kindOf } from '../config/fields.ts';
import { ASK_FIELDS, type Ask, readAsk, readCost, readItem } from './ask.ts';
import type { Holds } from './holds.ts';
import { invalidField, StoreError } from './http-error.ts';
import type { LiveLimits } from './live-limits.ts';

export interface VerbContext {
  readonly limits: LiveLimits;
  readonly holds: Holds;
}

/** `at` is what stands before a field's name in errors. */
export type Verb = (value: unknown, at: string, context: VerbContext) => MaybePromise<object>;

const SUBJECT_FIELDS = ASK_FIELDS.filter((field) => field !== 'cost');

function asked(fields: Fields, at: string, { config }: LiveLimits): Ask {
  return readAsk(fields, at, config, Date.now());
}

/** This and the next without a promise where the store needs none. */
export const attempt: Verb = (value, at, { limits }) => {
  const { key, cost, policies } = asked(readItem(value, at, ASK_FIELDS), at, limits);
  return limits.limiter.attempt.atOnce!(key, { cost, context: { policies } });
};

export const peek: Verb = (value, at, { limits }) => {
  const { key, cost, policies } = asked(readItem(value, at, ASK_FIELDS), at, limits);
  return limits.limiter.peek.atOnce!(key, { cost, context: { policies } });
};

export const refund: Verb = async (value, at, { limits }) => {
  const fields = readItem(value, at, [...ASK_FIELDS, 'of']);
  const { key, cost, policies } = asked(fields, at, limits);
  const of = readResult(fields.of, `${at}of`);
  return limits.limiter.refund(key, { cost, context: { policies }, ...(of === undefined ? {} : { of }) });
};

/** The result of an attempt, as it was answered. What it has to hold in detail the limiter checks. */
function readResult(value: unknown, path: string): RateLimitResult | undefined {
  if (value === undefined) return undefined;
  const decisions = isFields(value) ? value.decisions : undefined;
  if (Array.isArray(decisions) && decisions.every(isFields)) return value as unknown as RateLimitResult;
  throw invalidField(path, 'the result of the attempt that is given back', kindOf(value));
}

export const reset: Verb = async (value, at, { limits }) => {
  const { key, policies } = asked(readItem(value, at, SUBJECT_FIELDS), at, limits);
  await limits.limiter.reset(key, { context: { policies } });
  return { reset: true };
};

export const block: Verb = async (value, at, { limits }) => {
  const fields = readItem(value, at, [...SUBJECT_FIELDS, 'duration']);
  const { key, policies } = asked(fields, at, limits);
  if (fields.duration === undefined) throw invalidField(`${at}duration`, "how long, such as '10m'", 'nothing');
  return done(await limits.limiter.block(key, fields.duration as Duration, { context: { policies } }));
};

export const unblock: Verb = async (value, at, { limits }) => {
  const { key, policies } = asked(readItem(value, at, SUBJECT_FIELDS), at, limits);
  return done(await limits.limiter.unblock(key, { context: { policies } }));
};

/** Who answers in the place of the store forgets it when the store is back, and no other server ever hears of it: that is not what was asked for. */
function done(result: RateLimitResult): RateLimitResult {
  if (result.source !== 'fallback' && result.source !== 'fail-closed') return result;
  throw new StoreError('the store did not hear of it');
}

const DEFAULT_TTL_SECONDS = 60;
const MAX_TTL_SECONDS = 3600;

export const reserve: Verb = async (value, at, { limits, holds }) => {
  const fields = readItem(value, at, [...ASK_FIELDS, 'ttl']);
  const { key, cost, policies } = asked(fields, at, limits);
  const ttl = readTtl(fields.ttl, `${at}ttl`);
  const { id, hold } = await holds.add(ttl * 1e3, () =>
    limits.limiter.reserve(key, { cost, ttl: ttl * 1e3, context: { policies } }),
  );
  return { ...hold.result, hold: id ?? null, cost };
};

/** Seconds, as everything else that the API says about time. */
function readTtl(value: unknown, path: string): number {
  if (value === undefined) return DEFAULT_TTL_SECONDS;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TTL_SECONDS) return value as number;
  throw invalidField(path, `a whole number of seconds from 1 to ${MAX_TTL_SECONDS}`, kindOf(value));
}

export const settle: Verb = async (value, at, { holds }) => {
  const { hold: id, actual } = readItem(value, at, ['hold', 'actual']);
  if (typeof id !== 'string') throw invalidField(`${at}hold`, 'the hold that reserve gave', kindOf(id));
  if (actual === undefined) throw invalidField(`${at}actual`, 'how much was really used; 0 cancels', 'nothing');
  const used = readCost(actual, `${at}actual`);
  return holds.take(id).commit(used);
};
