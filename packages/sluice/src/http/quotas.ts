/** The forms in which servers tell of their limits, each read into the same words. One reader for each form. */
import { secondsUntil } from './moments.ts';
import { type BareItem, type Item, parseList } from './structured-fields.ts';

/** One limit that a server told of. What it did not tell is undefined. */
export interface Quota {
  /** The policy, the resource (GitHub) or the unit (OpenAI, Anthropic). */
  readonly name: string | undefined;
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly used: number | undefined;
  /** Seconds. */
  readonly window: number | undefined;
  /** Seconds from now until there is more. */
  readonly resetAfter: number | undefined;
}

export const NOTHING_KNOWN: Quota = {
  name: undefined,
  limit: undefined,
  remaining: undefined,
  used: undefined,
  window: undefined,
  resetAfter: undefined,
};

/** By lower case name. */
export type HeaderMap = ReadonlyMap<string, string>;
type Reader = (headers: HeaderMap, nowMs: number) => readonly Quota[];

/** `limit`, ... as servers spell them in the names of headers. */
const FIELD = '(?<field>limit|remaining|used|reset-after|reset|resource)';

const READERS: readonly Reader[] = [
  readDraft11,
  readDraft7,
  familyReader(new RegExp(`^ratelimit-${FIELD}(?:-(?<name>.+))?$`)),
  familyReader(new RegExp(`^x-rate-?limit-${FIELD}(?:-(?<name>.+))?$`)),
  familyReader(new RegExp(`^x-rate-?limit-(?<name>.+?)-?${FIELD}$`)),
  familyReader(new RegExp(`^anthropic-ratelimit-(?<name>.+)-${FIELD}$`)),
  readShopify,
];

/** A server that speaks several forms means the same by all of them: the newest one is read that says what is left, if any does. */
export function quotasIn(headers: HeaderMap, nowMs: number): readonly Quota[] {
  let told: readonly Quota[] = [];
  for (const read of READERS) {
    const quotas = read(headers, nowMs).filter(saysSomething);
    if (quotas.some(({ remaining }) => remaining !== undefined)) return quotas;
    if (told.length === 0) told = quotas;
  }
  return told;
}

/** Two lists that name their policies: what each allows, `"daily";q=1000;w=86400`, and how each stands, `"daily";r=1;t=50`. */
function readDraft11(headers: HeaderMap): readonly Quota[] {
  const states = namedItems(headers.get('ratelimit'));
  const policies = namedItems(headers.get('ratelimit-policy'));
  const names = new Set([...states.keys(), ...policies.keys()]);
  return [...names].map((name) => draft11Quota(name, policies.get(name), states.get(name)));
}

type Parameters = Item['parameters'];

function namedItems(text: string | undefined): ReadonlyMap<string, Parameters> {
  const items = parseList(text ?? '') ?? [];
  return new Map(items.flatMap(({ value, parameters }) => (typeof value === 'string' ? [[value, parameters]] : [])));
}

function draft11Quota(name: string, policy: Parameters | undefined, state: Parameters | undefined): Quota {
  return {
    ...NOTHING_KNOWN,
    name,
    limit: countOf(policy?.get('q')),
    window: countOf(policy?.get('w')),
    remaining: countOf(state?.get('r')),
    resetAfter: countOf(state?.get('t')),
  };
}

/** Whole and not negative, as the drafts have it; `-0` is 0 in structured fields. */
function countOf(value: BareItem | undefined): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0 ? Math.abs(value as number) : undefined;
}

/** `limit=100, remaining=99, reset=50` */
function readDraft7(headers: HeaderMap): readonly Quota[] {
  const fields = new Map(
    (headers.get('ratelimit') ?? '')
      .split(',')
      .map((field) => field.split('=').map((part) => part.trim()) as [string, string]),
  );
  if (!fields.has('limit') && !fields.has('remaining')) return [];
  const [limit, remaining, resetAfter] = ['limit', 'remaining', 'reset'].map((name) => leadingNumber(fields.get(name)));
  return [{ ...NOTHING_KNOWN, limit, remaining, resetAfter, window: windowIn(headers.get('ratelimit-policy'), limit) }];
}

/** Which window goes with this limit: `100;w=60, 1000;w=3600`. */
function windowIn(policies: string | undefined, limit: number | undefined): number | undefined {
  const policy = parseList(policies ?? '')?.find(({ value, parameters }) => value === limit && parameters.has('w'));
  return countOf(policy?.parameters.get('w'));
}

/** One header for each number, and the name of the quota in the name of the header. */
function familyReader(pattern: RegExp): Reader {
  return (headers, nowMs) => {
    const quotas = new Map<string, Map<string, string>>();
    for (const [header, value] of headers) {
      const { field, name = '' } = pattern.exec(header)?.groups ?? {};
      if (field !== undefined) quotas.set(name, (quotas.get(name) ?? new Map()).set(field, value));
    }
    const policies = headers.get('ratelimit-policy');
    return [...quotas].map(([name, fields]) => familyQuota(name, fields, policies, nowMs));
  };
}

function familyQuota(name: string, fields: HeaderMap, policies: string | undefined, nowMs: number): Quota {
  const limit = leadingNumber(fields.get('limit'));
  const reset = fields.get('reset-after') ?? fields.get('reset');
  return {
    name: name || fields.get('resource'),
    limit,
    remaining: leadingNumber(fields.get('remaining')),
    used: leadingNumber(fields.get('used')),
    // The oldest drafts put the policies behind the limit: `100, 100;w=60`.
    window: windowIn(policies ?? fields.get('limit'), limit),
    resetAfter: reset === undefined ? undefined : secondsUntil(reset, nowMs),
  };
}

/** `32/40`: how much is used, and of how much. */
function readShopify(headers: HeaderMap): readonly Quota[] {
  const [, used, limit] = /^(\d+)\/(\d+)$/.exec(headers.get('x-shopify-shop-api-call-limit') ?? '') ?? [];
  if (used === undefined) return [];
  const remaining = Math.max(0, Number(limit) - Number(used));
  return [{ ...NOTHING_KNOWN, limit: Number(limit), used: Number(used), remaining }];
}

function saysSomething({ limit, remaining, resetAfter }: Quota): boolean {
  return limit !== undefined || remaining !== undefined || resetAfter !== undefined;
}

/** `100` in `100, 100;w=60`, and 99 in `99.0`; undefined for words and negative numbers. */
function leadingNumber(text: string | undefined): number | undefined {
  const digits = /^\d+(?:\.\d+)?(?=$|[\s,;])/.exec(text ?? '')?.[0];
  return digits === undefined ? undefined : Number(digits);
}
