/**
 * The endpoints for gateways, which send the request on or not by the status alone. `/v1/check/api` spends from the policies it names, for
 * a key that the gateway says; `/v1/check` lets the rules of the config choose, by the request that the gateway describes.
 */
import type { IncomingMessage } from 'node:http';
import type { AttemptEntry, Policy, RateLimitResult } from 'sluice';
import { denial, type HeaderValues, type Key, type RequestView, rateLimitHeaders } from 'sluice/http';
import { applyRules, spendsOfAll } from '../config/apply-rules.ts';
import type { TrustedProxies } from '../config/config.ts';
import { kindOf } from '../config/fields.ts';
import { parseKey } from '../config/key-expression.ts';
import { type Answer, json } from './answer.ts';
import { namedPolicy, readCost, readKey } from './ask.ts';
import { HttpError, invalidField } from './http-error.ts';
import type { LiveLimits } from './live-limits.ts';

export interface CheckRequest {
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
}

/** `names` is one policy, or several with commas between. */
export async function checkPolicies(names: string, asked: CheckRequest, limits: LiveLimits): Promise<Answer> {
  refuseUnknown(asked.query, ['key', 'by', 'cost', 'plan', 'deny']);
  const how = readDeny(asked.query);
  const key = keyOf(asked, limits);
  const plan = asked.query.get('plan') ?? undefined;
  const cost = readCostText(asked.query.get('cost'));
  const now = Date.now();
  const policies = names.split(',').map((name) => {
    if (!limits.config.policies.has(name)) throw noSuchPolicy(name);
    return namedPolicy(name, 'policy', limits.config, { key, plan, now });
  });
  const result = await limits.limiter.attempt(key, { cost, context: { policies } });
  return answerOf(result, policies, asked.request, how);
}

export async function checkRules(asked: CheckRequest, limits: LiveLimits): Promise<Answer> {
  refuseUnknown(asked.query, ['deny']);
  const how = readDeny(asked.query);
  const outcomes = applyRules(limits.config, describedRequest(asked.request), Date.now());
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

/** Waits for the slot where a policy shapes, because a gateway cannot. */
async function answerOf(
  result: RateLimitResult,
  policies: readonly Policy[],
  request: IncomingMessage,
  deny: number | undefined,
): Promise<Answer> {
  const headers = rateLimitHeaders(result, { policies, form: 'both' });
  if (!result.allowed) return denied(result, headers, request, deny);
  if (result.delay !== null) await slot(result.delay, request);
  return json(200, { ...withoutKey(result), decisions: result.decisions.map(withoutKey) }, headers);
}

/** The key may be a secret of the client, such as its API key: it is not for whoever sees the gateway's answer. */
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
  return { status: deny ?? status, headers, body };
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

/** Said outright in the query or the header, or how to find it in the request. */
function keyOf({ request, query }: CheckRequest, limits: LiveLimits): string {
  const given = query.get('key') ?? request.headers[KEY_HEADER]?.toString();
  if (given !== undefined) return readKey(given, query.has('key') ? 'key' : KEY_HEADER);
  const by = query.get('by');
  if (by === null) throw noKey(`expected ?key=..., the header ${KEY_HEADER}, or ?by=header:NAME`);
  const key = keyFrom(by, limits.config.trustedProxies)(viewOf(request, request.method ?? 'GET', request.url ?? '/'));
  if (key === undefined) throw noKey(`the request has nothing for ${kindOf(by)}`);
  return readKey(key, 'by');
}

const MAX_BY_LENGTH = 256;

function keyFrom(by: string, trustedProxies: TrustedProxies): Key {
  if (by.length > MAX_BY_LENGTH) throw invalidField('by', `at most ${MAX_BY_LENGTH} characters`, `${by.length}`);
  try {
    return parseKey(by, trustedProxies);
  } catch (error) {
    throw new HttpError(400, 'invalid_field', `by: ${(error as Error).message}`, { path: 'by' });
  }
}

function viewOf({ headers, socket }: IncomingMessage, method: string, path: string): RequestView {
  return { method, path, ip: socket.remoteAddress, header: (name) => headers[name.toLowerCase()]?.toString() };
}

/** As gateways describe a request: Caddy and Traefik by the first of these, nginx by convention by the second. */
function describedRequest(request: IncomingMessage): RequestView {
  const { headers } = request;
  const path = (headers['x-forwarded-uri'] ?? headers['x-original-uri'])?.toString();
  const method = (headers['x-forwarded-method'] ?? headers['x-original-method'])?.toString();
  if (path === undefined) {
    const expected = 'the path of the request to decide, in X-Forwarded-Uri or X-Original-URI';
    throw invalidField('x-forwarded-uri', expected, 'nothing');
  }
  return viewOf(request, method ?? request.method ?? 'GET', path);
}

function readDeny(query: URLSearchParams): number | undefined {
  const deny = query.get('deny');
  if (deny === null || deny === '429') return undefined;
  if (deny === '403') return 403;
  throw invalidField('deny', '403 or 429', kindOf(deny));
}

function readCostText(text: string | null): number {
  if (text === null) return 1;
  return readCost(/^\d{1,16}$/.test(text) ? Number(text) : text, 'cost');
}

function refuseUnknown(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (!known.includes(name)) throw invalidField(name.slice(0, 60), `one of ${known.join(', ')}`, 'no such parameter');
  }
}

function noKey(message: string): HttpError {
  return new HttpError(400, 'no_key', message, { path: 'key' });
}

function noSuchPolicy(name: string): HttpError {
  return new HttpError(404, 'unknown_policy', `There is no policy ${kindOf(name)}.`, { path: 'policy' });
}
