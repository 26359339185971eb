/** The verbs of the API: one JSON object in, one out. Each is the limiter's verb of that name. */
import type { Cost, Duration, Policy, RateLimitResult } from 'sluice';
import { type MaybePromise, ruleOf } from 'sluice/store';
import { type Fields, isFields, kindOf } from '../files/fields.ts';
import { ASK_FIELDS, type Ask, readAsk, readCost, readCosts, readItem } from './ask.ts';
import { holdText, readHold } from './holds.ts';
import { invalidField, StoreError } from './http-error.ts';
import type { LiveLimits } from './live-limits.ts';

export interface VerbContext {
  readonly limits: LiveLimits;
}

/** `at` is what stands before a field's name in errors. */
export type Verb = (value: unknown, at: string, context: VerbContext) => MaybePromise<object>;

const SUBJECT_FIELDS = ASK_FIELDS.filter((field) => field !== 'cost');

function asked(fields: Fields, at: string, { config }: LiveLimits): Ask {
  return readAsk(fields, at, config, Date.now());
}

/** This and the next without a promise where the store needs none. */
export const attempt: Verb = (value, at, { limits }) => {
  const fields = readItem(value, at, SPEND_FIELDS);
  const { key, cost, policies } = askedInPart(fields, at, limits);
  return limits.limiter.attempt.atOnce!(key, { cost, context: { policies }, ...readId(fields, at) });
};

export const peek: Verb = (value, at, { limits }) => {
  const fields = readItem(value, at, SPEND_FIELDS);
  const { key, cost, policies } = askedInPart(fields, at, limits);
  return limits.limiter.peek.atOnce!(key, { cost, context: { policies }, ...readId(fields, at) });
};

const SPEND_FIELDS = [...ASK_FIELDS, 'id', 'ttl'] as const;
const MAX_ID_LENGTH = 256;
const MAX_ID_TTL_SECONDS = 86_400;

/** The cost may also be `{ most, least }`, unless a policy is called that: as much as there is. */
function askedInPart(fields: Fields, at: string, limits: LiveLimits): Ask {
  const { cost } = fields;
  if (!isFields(cost) || !('most' in cost)) return asked(fields, at, limits);
  const ask = asked({ ...fields, cost: 0 }, at, limits);
  if (ask.policies.some(({ name }) => name === 'most')) return asked(fields, at, limits);
  const { most, least = 1 } = readItem(cost, `${at}cost.`, ['most', 'least']);
  const part = { most: readCost(most ?? null, `${at}cost.most`), least: readCost(least, `${at}cost.least`) };
  if (part.least <= part.most) return { ...ask, cost: part };
  throw invalidField(`${at}cost.least`, `at most ${part.most}, which is cost.most`, String(part.least));
}

/** What tells a retry from a new attempt, and for how long. */
function readId({ id, ttl }: Fields, at: string): { id?: string; ttl?: number } {
  if (id === undefined && ttl === undefined) return {};
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH) {
    throw invalidField(`${at}id`, `a string of 1 to ${MAX_ID_LENGTH} characters`, kindOf(id));
  }
  if (ttl === undefined) return { id };
  if (Number.isInteger(ttl) && (ttl as number) >= 1 && (ttl as number) <= MAX_ID_TTL_SECONDS) {
    return { id, ttl: (ttl as number) * 1e3 };
  }
  throw invalidField(`${at}ttl`, `a whole number of seconds from 1 to ${MAX_ID_TTL_SECONDS}`, kindOf(ttl));
}

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

/** Spends also what does not fit, down to nothing. */
export const penalize: Verb = async (value, at, { limits }) => {
  const { key, cost, policies } = asked(readItem(value, at, ASK_FIELDS), at, limits);
  return done(await limits.limiter.penalize(key, { cost, context: { policies } }));
};

const DEFAULT_ENTRIES = 100;
export const MAX_ENTRIES = 1000;

export const HISTORY_FIELDS = ['key', 'policy', 'plan', 'limit', 'after'] as const;

/** When a sliding window log allowed what: so many entries, oldest first, and from where to go on. */
export const history: Verb = async (value, at, { limits }) => {
  const { limit, after, ...subject } = readItem(value, at, HISTORY_FIELDS);
  const most = readMost(limit, `${at}limit`);
  const from = readMoment(after, `${at}after`);
  const { key, policies } = asked(subject, at, limits);
  const all = await limits.limiter.history(key, { context: { policies } });
  const rest = from === undefined ? all : all.filter((entry) => entry.at > from);
  const entries = rest.slice(0, most);
  return { policy: policies[0]!.name, entries, next: rest.length > most ? entries.at(-1)!.at : null };
};

function readMost(value: unknown, path: string): number {
  if (value === undefined) return DEFAULT_ENTRIES;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_ENTRIES) return value as number;
  throw invalidField(path, `a whole number from 1 to ${MAX_ENTRIES}`, kindOf(value));
}

function readMoment(value: unknown, path: string): number | undefined {
  if (value === undefined || (typeof value === 'number' && value >= 0 && Number.isFinite(value))) return value;
  throw invalidField(path, 'the time of an entry: Unix time in seconds', kindOf(value));
}

export const reset: Verb = async (value, at, { limits }) => {
  const { key, policies } = asked(readItem(value, at, SUBJECT_FIELDS), at, limits);
  await limits.limiter.reset(key, { context: { policies } });
  return { reset: true };
};

export const block: Verb = async (value, at, { limits }) => {
  const fields = readItem(value, at, [...SUBJECT_FIELDS, 'duration', 'reason']);
  const { key, policies } = asked(fields, at, limits);
  if (fields.duration === undefined) throw invalidField(`${at}duration`, "how long, such as '10m'", 'nothing');
  const reason = fields.reason as string | undefined;
  return done(await limits.limiter.block(key, fields.duration as Duration, { reason, context: { policies } }));
};

export const unblock: Verb = async (value, at, { limits }) => {
  const { key, policies } = asked(readItem(value, at, SUBJECT_FIELDS), at, limits);
  return done(await limits.limiter.unblock(key, { context: { policies } }));
};

/** Who answers in the place of the store forgets it when the store is back, and no other server ever hears of it: that is not what was asked for. */
function done<Result extends RateLimitResult>(result: Result): Result {
  if (result.source !== 'fallback' && result.source !== 'fail-closed') return result;
  throw new StoreError('the store did not hear of it');
}

const DEFAULT_TTL_SECONDS = 60;
const MAX_TTL_SECONDS = 3600;

/** A cost of 0 holds nothing: it is a look, and there is nothing to settle. */
export const reserve: Verb = async (value, at, { limits }) => {
  const fields = readItem(value, at, [...ASK_FIELDS, 'ttl']);
  const { key, cost, policies } = asked(fields, at, limits);
  const ttl = readTtl(fields.ttl, `${at}ttl`);
  const context = { policies };
  if (isNothing(cost)) return { ...(await limits.limiter.attempt(key, { cost, context })), hold: null, cost };
  const { result, token } = await limits.limiter.reserve(key, { cost, ttl: ttl * 1e3, context });
  return { ...result, hold: token === undefined ? null : holdText(token, fields), cost };
};

function isNothing(cost: Cost): boolean {
  return typeof cost === 'number' ? cost === 0 : Object.values(cost).every((units) => units === 0);
}

/** Seconds, as everything else that the API says about time. */
function readTtl(value: unknown, path: string): number {
  if (value === undefined) return DEFAULT_TTL_SECONDS;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_TTL_SECONDS) return value as number;
  throw invalidField(path, `a whole number of seconds from 1 to ${MAX_TTL_SECONDS}`, kindOf(value));
}

export const settle: Verb = async (value, at, { limits }) => {
  const { hold: text, actual, maxDebt } = readItem(value, at, ['hold', 'actual', 'maxDebt']);
  if (typeof text !== 'string') throw invalidField(`${at}hold`, 'the hold that reserve returned', kindOf(text));
  if (actual === undefined) throw invalidField(`${at}actual`, 'how much was really used; 0 cancels', 'nothing');
  if (!isFields(actual)) readCost(actual, `${at}actual`);
  const { token, policies } = readHold(text, limits.config, Date.now());
  const used = readCosts(actual, `${at}actual`, policies);
  const debt = readDebt(maxDebt, `${at}maxDebt`, policies);
  return done(await limits.limiter.settle(token, used, { maxDebt: debt, context: { policies } }));
};

/** At most the limit of each policy, so that a caller can lock a key for no longer than twice the time it takes to recover. */
function readDebt(value: unknown, path: string, policies: readonly Policy[]): Cost | undefined {
  if (value === undefined) return undefined;
  const debt = readCosts(value, path, policies);
  for (const policy of policies) {
    const { limit, name } = ruleOf(policy);
    const units = typeof debt === 'number' ? debt : debt[name]!;
    if (units > limit) throw invalidField(path, `at most ${limit}, the limit of policy ${name}`, String(units));
  }
  return debt;
}
