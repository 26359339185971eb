/**
 * The RateLimit headers, in the syntax of each draft that clients ask for. They emit the syntax of draft 11; they do not claim
 * to comply, because it still moves: a new draft is a new entry in FORMS.
 *
 * Rounding happens here and nowhere else, and always upwards. `q` over `w` is the rate a policy sustains, so the window of a
 * bucket and of GCRA is the time in which all of its capacity comes back. `t` is the time within which a client can use no more than
 * `r`: until this same attempt would be allowed if it was denied, until one more unit is there if it was allowed.
 */
import { checkOne } from '../limiter/core.ts';
import type { Decision, RateLimitResult } from '../model/decision.ts';
import { MICROS_PER_SECOND } from '../model/duration.ts';
import { Kind, type SluiceError } from '../model/errors.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { resultOf } from '../model/result.ts';

/** A form of rate limit headers: a draft of the IETF, or the X-RateLimit fields that came before. */
export type HeaderDraft = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy';
/** A draft, several, or by purpose: 'draft' is the newest one, 'legacy' the X-RateLimit fields, 'both' these two. */
export type HeaderForm = HeaderDraft | 'draft' | 'both' | 'none' | readonly HeaderDraft[];

/** Headers by name. */
export type HeaderValues = Readonly<Record<string, string>>;
export const NO_HEADERS: HeaderValues = Object.freeze({});
/** Makes the headers of a result. Made by `headerWriter`. */
export type HeaderWriter = (result: RateLimitResult) => HeaderValues;

/** Which headers to write. */
export interface HeaderOptions {
  /** Default: 'both', which is draft 11 and X-RateLimit. */
  readonly form?: HeaderForm | undefined;
}

/**
 * Writes the headers of one result after another. What the policies say never changes, so it is put into text here, once.
 * They are the ones that may decide: all of them, when a limiter chooses by context. A decision of another policy is written
 * without its window.
 *
 * @example
 * const write = headerWriter(limiter.policies ?? []);
 * response.setHeaders(new Map(Object.entries(write(result))));
 */
export function headerWriter(policies: readonly Policy[], options: HeaderOptions = {}): HeaderWriter {
  checkOptionNames(options, ['form'], 'headerWriter');
  return writerOf(checkPolicies(policies, 'headerWriter(policies)'), formsOf(options.form, 'headerWriter.form'));
}

/** The same from what was checked elsewhere. */
export function writerOf(policies: readonly Policy[], forms: readonly Form[]): HeaderWriter {
  const [first, second, third] = forms;
  if (first === undefined) return () => NO_HEADERS;
  const linesFor = lineFinder(policies);
  if (second === undefined) return writing(first, linesFor);
  if (first === FORMS.legacy && second === FORMS['draft-11'] && third === undefined) {
    return writing(writeBoth, linesFor);
  }
  return writing((result, lines) => Object.assign({}, ...forms.map((form) => form(result, lines))), linesFor);
}

/** Only what clients are to read about: of nothing else there are numbers in any form. */
function writing(form: Form, linesFor: (decisions: readonly Decision[]) => Lines): HeaderWriter {
  return (result) => {
    const { decisions, source } = result;
    if (decisions.every(isShown)) return form(result, linesFor(decisions));
    const shown = decisions.filter(isShown);
    return shown.length === 0 ? NO_HEADERS : form(resultOf(shown, source), linesFor(shown));
  };
}

/** What is unlimited has no number that a header could have. */
function isShown({ visible, limit }: Decision): boolean {
  return visible !== false && limit !== Number.POSITIVE_INFINITY;
}

export function checkPolicies(policies: unknown, path: string): readonly Policy[] {
  if (policies === undefined) return [];
  if (!Array.isArray(policies)) throw invalidOption(path, 'an array of policies', Kind.of(policies));
  return policies.map((policy, index) => checkOne(policy, `${path}[${index}]`));
}

/** What `rateLimitHeaders` takes besides the result. */
export interface RateLimitHeadersOptions extends HeaderOptions {
  /** The policies that decided, for their windows. Without them the window is left out. */
  readonly policies?: readonly Policy[] | undefined;
}

/** The headers of one result. For many, `headerWriter` does the unchanging part once. */
export function rateLimitHeaders(result: RateLimitResult, options: RateLimitHeadersOptions = {}): HeaderValues {
  checkOptionNames(options, ['form', 'policies'], 'rateLimitHeaders');
  const policies = checkPolicies(options.policies, 'rateLimitHeaders.policies');
  return writerOf(policies, formsOf(options.form, 'rateLimitHeaders.form'))(result);
}

/** `Retry-After`: whole seconds, at least 1; undefined when the attempt was allowed, or never will be. */
export function retryAfterSeconds({ retryAfter }: RateLimitResult): number | undefined {
  return retryAfter === null || !Number.isFinite(retryAfter) ? undefined : Math.max(1, whole(retryAfter));
}

/** What one policy says in every response, as text. */
interface Line {
  readonly name: string;
  readonly limit: number;
  /** `"daily";q=1000;w=86400` */
  readonly policy: string;
  /** `"daily";r=` */
  readonly state: string;
  /** `1000;w=86400`, the older drafts' policy; empty when the window is not known, which they need. */
  readonly oldPolicy: string;
  /** Seconds until one more unit is there, when that many are spent and everything is back after `resetAfter`. */
  readonly nextUnit: NextUnit;
}

type NextUnit = (spent: number, resetAfter: number) => number;

interface Lines {
  readonly each: readonly Line[];
  readonly policies: string;
  readonly oldPolicies: string;
}

function lineOf(name: string, limit: number, policy?: Policy): Line {
  const quoted = `"${name.replace(/["\\]/g, '\\$&')}"`;
  const window = policy === undefined ? '' : `;w=${whole(ruleOf(policy).recovery / MICROS_PER_SECOND)}`;
  return {
    name,
    limit,
    policy: `${quoted};q=${whole(limit)}${window}`,
    state: `${quoted};r=`,
    oldPolicy: window && whole(limit) + window,
    nextUnit: policy === undefined ? untilReset : nextUnitOf(policy),
  };
}

const untilReset: NextUnit = (_spent, resetAfter) => resetAfter;

/** In seconds, as results are. */
function nextUnitOf(policy: Policy): NextUnit {
  const { nextUnit } = ruleOf(policy);
  if (nextUnit === undefined) return untilReset;
  return (spent, resetAfter) => nextUnit(spent, resetAfter * MICROS_PER_SECOND) / MICROS_PER_SECOND;
}

function joinLines(each: readonly Line[]): Lines {
  return {
    each,
    policies: each.map(({ policy }) => policy).join(', '),
    oldPolicies: each.flatMap(({ oldPolicy }) => oldPolicy || []).join(', '),
  };
}

function isOf({ name, limit }: Line, decision: Decision): boolean {
  return name === decision.policy && limit === decision.limit;
}

/** Nearly always the decisions are those of the policies, in order, and everything is ready. */
function lineFinder(policies: readonly Policy[]): (decisions: readonly Decision[]) => Lines {
  const shown = policies.filter((policy) => ruleOf(policy).visible && ruleOf(policy).limit < Number.POSITIVE_INFINITY);
  const known = shown.map((policy) => lineOf(policy.name, ruleOf(policy).limit, policy));
  const all = joinLines(known);
  const find = (decision: Decision): Line =>
    known.find((line) => isOf(line, decision)) ?? lineOf(decision.policy, decision.limit);
  return (decisions) => {
    let same = decisions.length === known.length ? 0 : -1;
    while (same >= 0 && same < known.length) same = isOf(known[same]!, decisions[same]!) ? same + 1 : -1;
    return same < 0 ? joinLines(decisions.map(find)) : all;
  };
}

/** Each makes its headers in one go, because every request waits for it: an object that is spread into another takes twenty times as long. */
export type Form = (result: RateLimitResult, lines: Lines) => HeaderValues;

/** Oldest first: where two write the same header, the newer one wins. */
const FORMS: Readonly<Record<HeaderDraft, Form>> = {
  legacy: ({ limit, remaining, resetAt }) => ({
    'X-RateLimit-Limit': `${whole(limit)}`,
    'X-RateLimit-Remaining': `${whole(remaining)}`,
    'X-RateLimit-Reset': `${whole(resetAt)}`,
  }),
  'draft-6': (result, lines) => {
    const limit = `${whole(result.limit)}`;
    const remaining = `${whole(result.remaining)}`;
    const reset = `${bindingWindow(result, lines)}`;
    return lines.oldPolicies === ''
      ? { 'RateLimit-Limit': limit, 'RateLimit-Remaining': remaining, 'RateLimit-Reset': reset }
      : {
          'RateLimit-Policy': lines.oldPolicies,
          'RateLimit-Limit': limit,
          'RateLimit-Remaining': remaining,
          'RateLimit-Reset': reset,
        };
  },
  'draft-7': (result, lines) => {
    const RateLimit = `limit=${whole(result.limit)}, remaining=${whole(result.remaining)}, reset=${bindingWindow(result, lines)}`;
    return lines.oldPolicies === '' ? { RateLimit } : { 'RateLimit-Policy': lines.oldPolicies, RateLimit };
  },
  'draft-11': ({ decisions }, { policies, each }) =>
    decisions.length === 0 ? NO_HEADERS : { 'RateLimit-Policy': policies, RateLimit: writeStates(decisions, each) },
};

function writeStates(decisions: readonly Decision[], lines: readonly Line[]): string {
  let text = '';
  for (let index = 0; index < decisions.length; index++) {
    const decision = decisions[index]!;
    const line = lines[index]!;
    const state = `${line.state}${whole(decision.remaining)};t=${effectiveWindow(decision, line)}`;
    text = index === 0 ? state : `${text}, ${state}`;
  }
  return text;
}

/** `t`: Retry-After is never earlier than that of a policy that denied. */
function effectiveWindow({ limit, remaining, retryAfter, resetAfter }: Decision, { nextUnit }: Line): number {
  if (retryAfter === null) return whole(nextUnit(limit - remaining, resetAfter));
  return whole(Number.isFinite(retryAfter) ? retryAfter : resetAfter);
}

/** Of the binding policy, which is the one that the numbers of a result are of. */
function bindingWindow(result: RateLimitResult, { each }: Lines): number {
  for (const line of each) if (isOf(line, result)) return effectiveWindow(result, line);
  return effectiveWindow(result, lineOf(result.policy, result.limit));
}

/** The default, in one go: five fields in one object. */
const writeBoth: Form = (result, lines) => {
  const { limit, remaining, resetAt, decisions } = result;
  if (decisions.length === 0) return FORMS.legacy(result, lines);
  return {
    'X-RateLimit-Limit': `${whole(limit)}`,
    'X-RateLimit-Remaining': `${whole(remaining)}`,
    'X-RateLimit-Reset': `${whole(resetAt)}`,
    'RateLimit-Policy': lines.policies,
    RateLimit: writeStates(decisions, lines.each),
  };
};

/** The largest integer of a structured field (RFC 9651): 15 digits. */
const MAX_INTEGER = 999_999_999_999_999;

/** Rounded upwards, never negative and never no number. */
function whole(value: number): number {
  return value > 0 ? Math.min(Math.ceil(value), MAX_INTEGER) : 0;
}

const DRAFTS = Object.keys(FORMS) as readonly HeaderDraft[];
const BY_PURPOSE = { draft: ['draft-11'], both: ['draft-11', 'legacy'], none: [] } as const;

/** Which headers to write; by default those of the newest draft and X-RateLimit. */
export function formsOf(form: unknown, path: string): readonly Form[] {
  const chosen = draftsOf(form === undefined ? 'both' : form);
  if (!chosen.every((draft) => DRAFTS.includes(draft))) throw invalidForm(form, path);
  if (chosen.includes('draft-11') && chosen.includes('draft-7')) {
    throw invalidOption(path, "'draft-11' or 'draft-7': both write RateLimit, each in its own way", new Kind('both'));
  }
  return DRAFTS.filter((draft) => chosen.includes(draft)).map((draft) => FORMS[draft]);
}

function draftsOf(form: unknown): readonly HeaderDraft[] {
  if (Array.isArray(form)) return form;
  return Object.hasOwn(BY_PURPOSE, String(form)) ? BY_PURPOSE[form as keyof typeof BY_PURPOSE] : [form as HeaderDraft];
}

function invalidForm(form: unknown, path: string): SluiceError {
  const names = [...Object.keys(BY_PURPOSE), ...DRAFTS].map((name) => `'${name}'`).join(', ');
  return invalidOption(path, `${names}, or an array of drafts`, form);
}
