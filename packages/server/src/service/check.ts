/**
 * The endpoints for gateways, which send the request on or not by the status alone. `/v1/check/api` spends from the policies it names, for
 * a key that the gateway says; `/v1/check` lets the rules of the config choose, by the request that the gateway describes.
 */
import type { IncomingMessage } from 'node:http';
import type { AttemptEntry, Policy, RateLimitResult } from 'sluice';
import { denial, type HeaderValues, type HeaderWriter, headerWriter, type Key, type RequestView } from 'sluice/http';
import { applyRules, type RuleOutcome, spendsOfAll } from '../config/apply-rules.ts';
import { type KeySources, parseKey } from '../config/key-expression.ts';
import { UnreadablePath } from '../config/request-paths.ts';
import { kindOf } from '../files/fields.ts';
import { type Answer, json, jsonText } from './answer.ts';
import { namedPolicy, readCost, readKey, refuseTwice } from './ask.ts';
import { HttpError, invalidField } from './http-error.ts';
import type { LiveLimits } from './live-limits.ts';
import { numberIn, refuseOthers } from './query.ts';
import { resultsJson } from './result-json.ts';
import { singleHeader } from './single-header.ts';

export interface CheckRequest {
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
}

/** `names` is one policy, or several with commas between. */
export async function checkPolicies(names: string, asked: CheckRequest, limits: LiveLimits): Promise<Answer> {
  refuseOthers(asked.query, ['key', 'by', 'cost', 'plan', 'deny']);
  const how = readDeny(asked.query);
  const key = keyOf(asked, limits);
  const plan = asked.query.get('plan') ?? undefined;
  const cost = readCost(numberIn(asked.query, 'cost'), 'cost');
  const now = Date.now();
  const policies = names.split(',').map((name) => {
    if (!limits.config.policies.has(name)) throw noSuchPolicy(name);
    return namedPolicy(name, 'policy', limits.config, { key, plan, now });
  });
  refuseTwice(policies, 'policy');
  const result = await limits.limiter.attempt(key, { cost, context: { policies } });
  return answerOf(result, policies, asked.request, how);
}

export async function checkRules(asked: CheckRequest, limits: LiveLimits): Promise<Answer> {
  refuseOthers(asked.query, ['deny']);
  const how = readDeny(asked.query);
  const outcomes = outcomesOf(asked.request, limits);
  const spends = spendsOfAll(outcomes);
  const isUnlimited = outcomes.some(({ outcome }) => outcome === 'unlimited');
  const keyless = isUnlimited ? undefined : outcomes.find(({ outcome }) => outcome === 'no-key');
  if (keyless !== undefined) throw noKey(`the rule ${keyless.rule} matches, and the request does not say who it is`);
  if (spends.length === 0) return json(200, { allowed: true, limited: false });
  const entries: AttemptEntry[] = spends.map(({ key, policy, cost }) => ({ key: readKey(key, 'key'), policy, cost }));
  const policies = spends.map(({ policy }) => policy);
  const result = await limits.limiter.attempt(entries, { context: { policies } });
  return answerOf(result, policies, asked.request, how);
}

/** A path that nobody can say what it means is refused: it is never a reason to let a request through. */
function outcomesOf(request: IncomingMessage, { config }: LiveLimits): readonly RuleOutcome[] {
  try {
    return applyRules(config, describedRequest(request), Date.now());
  } catch (error) {
    if (!(error instanceof UnreadablePath)) throw error;
    throw new HttpError(400, 'unreadable_path', error.message, { path: 'x-forwarded-uri' });
  }
}

/** Waits for the slot where a policy shapes, because a gateway cannot. */
async function answerOf(
  result: RateLimitResult,
  policies: readonly Policy[],
  request: IncomingMessage,
  deny: number | undefined,
): Promise<Answer> {
  const headers = writerFor(policies)(result);
  if (!result.allowed) return denied(result, headers, request, deny);
  if (result.delay !== null) await slot(result.delay, request);
  return jsonText(200, resultsJson(withoutKeys(result)), headers);
}

/** Of policies by themselves, which are nearly all: what headers say of one never changes. */
const writers = new WeakMap<Policy, HeaderWriter>();

function writerFor(policies: readonly Policy[]): HeaderWriter {
  const [policy, ...others] = policies;
  if (policy === undefined || others.length > 0) return headerWriter(policies, { form: 'both' });
  let writer = writers.get(policy);
  if (writer === undefined) {
    writer = headerWriter(policies, { form: 'both' });
    writers.set(policy, writer);
  }
  return writer;
}

/** The key may be a secret of the client, such as its API key: it is not for whoever sees the gateway's answer. */
function withoutKeys(result: RateLimitResult): object {
  // Only answers about several keys name them.
  if (result.key === undefined) return result;
  return { ...withoutKey(result), decisions: result.decisions.map(withoutKey) };
}

function withoutKey<T extends { readonly key?: unknown }>({ key: _, ...decision }: T): Omit<T, 'key'> {
  return decision;
}

function denied(
  result: RateLimitResult,
  rateLimit: HeaderValues,
  request: IncomingMessage,
  deny: number | undefined,
): Answer {
  const { status, headers, body } = denial(result, { accept: request.headers.accept, headers: rateLimit });
  // A limiter that fails closed says 503, which a gateway is to hear as such.
  if (deny === undefined || status !== 429) return { status, headers, body };
  return { status: deny, headers: { ...headers, 'X-Sluice-Problem': inHeader(body) }, body };
}

/** The body in one line of ASCII: a gateway that takes no 429 for an answer takes no body either, and has to write the 429 itself. */
function inHeader(body: string): string {
  return body.trim().replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A client that goes away need not be waited for; what it spent stays spent. */
function slot(seconds: number, { socket }: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      socket.off('close', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(Math.ceil(seconds * 1e3), LONGEST_TIMER_MS));
    socket.once('close', end);
  });
}

/** A longer timer would ring at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const KEY_HEADER = 'x-sluice-key';

/** What the gateway's own URL says comes first: headers may be the client's, passed on. */
function keyOf({ request, query }: CheckRequest, limits: LiveLimits): string {
  const said = query.get('key');
  if (said !== null) return ownText(readKey(said, 'key'));
  const by = query.get('by');
  const given = singleHeader(request, KEY_HEADER);
  if (by === null && given !== undefined) return readKey(given, KEY_HEADER);
  if (by === null) throw noKey(`expected ?key=..., the header ${KEY_HEADER}, or ?by=header:NAME`);
  const key = keyFrom(by, limits.config)(viewOf(request, request.method ?? 'GET', request.url ?? '/'));
  if (key === undefined) throw noKey(`the request has nothing for ${kindOf(by)}`);
  return readKey(key, 'by');
}

/** A copy: a part of a text keeps all of it in memory, and whoever remembers the key would remember a URL of 32 KB. */
function ownText(part: string): string {
  return Buffer.from(part).toString();
}

const MAX_BY_LENGTH = 256;

function keyFrom(by: string, sources: KeySources): Key {
  if (by.length > MAX_BY_LENGTH) throw invalidField('by', `at most ${MAX_BY_LENGTH} characters`, `${by.length}`);
  try {
    return parseKey(by, sources);
  } catch (error) {
    throw new HttpError(400, 'invalid_field', `by: ${(error as Error).message}`, { path: 'by' });
  }
}

function viewOf(request: IncomingMessage, method: string, path: string): RequestView {
  const { remoteAddress: ip } = request.socket;
  return { method, path, ip, header: (name) => singleHeader(request, name.toLowerCase()) };
}

/** As gateways describe a request: Caddy and Traefik by the first of these, nginx by convention by the second. */
function describedRequest(request: IncomingMessage): RequestView {
  const path = described(request, 'x-forwarded-uri', 'x-original-uri');
  const method = described(request, 'x-forwarded-method', 'x-original-method');
  if (path === undefined) {
    const expected = 'the path of the request to decide, in X-Forwarded-Uri or X-Original-URI';
    throw invalidField('x-forwarded-uri', expected, 'nothing');
  }
  return viewOf(request, method ?? request.method ?? 'GET', path);
}

/** Two that differ are the gateway's and the client's own, who would like to be taken for another request: nobody knows which is which. */
function described(request: IncomingMessage, name: string, otherName: string): string | undefined {
  const [text, other] = [singleHeader(request, name), singleHeader(request, otherName)];
  if (text === undefined || other === undefined || text === other) return text ?? other;
  throw invalidField(otherName, `the same as ${name}`, 'something else');
}

function readDeny(query: URLSearchParams): number | undefined {
  const deny = query.get('deny');
  if (deny === null || deny === '429') return undefined;
  if (deny === '403') return 403;
  throw invalidField('deny', '403 or 429', kindOf(deny));
}

function noKey(message: string): HttpError {
  return new HttpError(400, 'no_key', message, { path: 'key' });
}

function noSuchPolicy(name: string): HttpError {
  return new HttpError(404, 'unknown_policy', `There is no policy ${kindOf(name)}.`, { path: 'policy' });
}
