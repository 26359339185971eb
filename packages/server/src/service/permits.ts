/**
 * Limits in flight over HTTP: enter, extend, release. A permit is a text that says by itself what was taken, so any server on the same store gives
 * it back, and nothing about it is kept here. Nobody keeps it alive but the caller: it ends with its ttl.
 */
import type { RateLimitResult } from 'sluice';
import { type Fields, isFields, kindOf } from '../files/fields.ts';
import { ASK_FIELDS, readAsk, readItem } from './ask.ts';
import { invalidField } from './http-error.ts';
import type { LiveLimits } from './live-limits.ts';
import type { Verb } from './verbs.ts';

/** Longer than any key with all the policies that an attempt may have. */
const MAX_LENGTH = 65_536;

export const enter: Verb = async (value, at, { limits }) => {
  const fields = readItem(value, at, ASK_FIELDS);
  const { key, cost, policies } = readAsk(fields, at, limits.config, Date.now());
  const { result } = await limits.limiter.enter(key, { cost, context: { policies }, heartbeat: false });
  return { ...result, permit: result.allowed ? written(fields, result) : null };
};

export const release: Verb = async (value, at, { limits }) => {
  const permit = await permitIn(readItem(value, at, ['permit']).permit, `${at}permit`, limits);
  return { released: await permit.release() };
};

export const extend: Verb = async (value, at, { limits }) => {
  const permit = await permitIn(readItem(value, at, ['permit']).permit, `${at}permit`, limits);
  return { extended: await permit.extend() };
};

/** What was asked for, and by what each spend is known. */
function written(fields: Fields, { decisions, source }: RateLimitResult): string {
  const spends = decisions.map(({ policy, resetAt, resetAfter, changed }) => ({
    policy,
    resetAt,
    resetAfter,
    changed,
  }));
  return Buffer.from(JSON.stringify({ ...fields, spends, source })).toString('base64url');
}

/** It comes from outside, so it is read as a question is: whoever writes one by hand can do no more than with a refund of an attempt. */
async function permitIn(text: unknown, path: string, { limiter, config }: LiveLimits) {
  const { spends, source, ...fields } = contentOf(text, path);
  const { key, cost, policies } = readAsk(readItem(fields, `${path}.`, ASK_FIELDS), `${path}.`, config, Date.now());
  const isWhole = Array.isArray(spends) && spends.length === policies.length && spends.every(isFields);
  if (!isWhole || typeof source !== 'string') throw notOne(path, text);
  const result = { allowed: true, decisions: spends, source } as unknown as RateLimitResult;
  const permit = await limiter.permitOf(key, result, { cost, context: { policies }, heartbeat: false });
  if (permit === undefined) throw notOne(path, text);
  return permit;
}

function contentOf(text: unknown, path: string): Fields {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) throw notOne(path, text);
  try {
    const content: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (isFields(content)) return content;
  } catch {
    // Told below.
  }
  throw notOne(path, text);
}

function notOne(path: string, text: unknown): Error {
  return invalidField(path, 'the permit that enter gave', kindOf(text));
}
