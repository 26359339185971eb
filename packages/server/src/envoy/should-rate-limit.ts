/** The answer to one request: find the limits, spend, and say what came of it. The order of the steps is the reference server's. */
import type { EnvoyDomain, EnvoyDomains, Metadata } from './domain.ts';
import { type Match, matchOf } from './match.ts';
import { countHits } from './near-limit.ts';
import { type Descriptor, givesBack, type RateLimitRequest, ServiceError } from './request.ts';
import type { Code, DescriptorStatus, HeaderValue, RateLimitResponse } from './response.ts';
import { requestMetadata } from './response-metadata.ts';
import type { EnvoySettings, HeaderNames } from './settings.ts';
import { type EnvoyLimiter, type Outcome, type Spend, spendOf } from './spend.ts';
import type { EnvoyStats } from './stats.ts';

export interface EnvoyContext {
  readonly domains: EnvoyDomains | undefined;
  readonly limiter: EnvoyLimiter;
  readonly settings: EnvoySettings;
  readonly stats: EnvoyStats;
}

/** Many more than Envoy sends; a request must not keep the store busy for long. */
export const MAX_DESCRIPTORS = 256;

/** Rejects with a ServiceError for what the client did wrong, and with the store's error when it fails. */
export async function shouldRateLimit(request: RateLimitRequest, context: EnvoyContext): Promise<RateLimitResponse> {
  const startedAt = performance.now();
  context.stats.requested();
  try {
    return await decide(request, context);
  } catch (error) {
    context.stats.happened(error instanceof ServiceError ? 'service_error' : 'redis_error');
    throw error;
  } finally {
    context.stats.responded((performance.now() - startedAt) / 1e3);
  }
}

async function decide(request: RateLimitRequest, context: EnvoyContext): Promise<RateLimitResponse> {
  const { settings, stats } = context;
  if (settings.negativeHits === 'refuse' && givesBack(request)) {
    throw new ServiceError('this server does not accept is_negative_hits (--envoy-negative-hits refuse)');
  }
  const domain = domainFor(request, context);
  const found = domain === undefined ? [] : withoutReplaced(request.descriptors.map((item) => matchOf(domain, item)));
  const looked = request.descriptors.map((descriptor, index) => lookedUp(descriptor, found[index], request, settings));
  const outcomes = await spendAll(looked, context);
  const judged = looked.map((item) => judge(item, outcomes.get(item)));
  if (domain !== undefined) for (const item of judged) count(item, domain, settings.nearLimitRatio, stats);
  return {
    overallCode: overallCode(judged, settings, stats),
    statuses: judged.map(({ status }) => status),
    responseHeadersToAdd: settings.headers === undefined ? [] : headersOf(judged, settings.headers),
    requestHeadersToAdd: settings.requestHeaders === undefined ? [] : headersOf(judged, settings.requestHeaders),
    dynamicMetadata: settings.dynamicMetadata ? requestMetadata(request, passedMetadata(judged)) : undefined,
  };
}

/** The limits that a request is under, in the order of its descriptors. Those of the dry run are not among them. */
export function limitedBy(request: RateLimitRequest, context: EnvoyContext): readonly Match[] {
  context.stats.requested();
  const domain = domainFor(request, context);
  if (domain === undefined) return [];
  const found = withoutReplaced(request.descriptors.map((item) => matchOf(domain, item)));
  return found.filter((match): match is Match => canDeny(match) && !match!.rule.shadow);
}

/** Undefined for a domain that no file has: nothing is limited there. */
function domainFor(
  { domain, descriptors }: RateLimitRequest,
  { domains, stats }: EnvoyContext,
): EnvoyDomain | undefined {
  if (domain === '') throw new ServiceError('rate limit domain must not be empty');
  if (descriptors.length === 0) throw new ServiceError('rate limit descriptor list must not be empty');
  if (descriptors.length > MAX_DESCRIPTORS) {
    throw new ServiceError(`rate limit descriptor list must not be longer than ${MAX_DESCRIPTORS}`);
  }
  if (domains === undefined || domains.size === 0) throw new ServiceError('no rate limit configuration loaded');
  const found = domains.get(domain);
  if (found === undefined) stats.happened('domain_not_found');
  return found;
}

/** An unlimited rule stays what it is, even if another replaces it. */
function withoutReplaced(matches: readonly (Match | undefined)[]): readonly (Match | undefined)[] {
  if (!matches.some((match) => match !== undefined && match.rule.replaces.length > 0)) return matches;
  const replaced = new Set(matches.flatMap((match) => match?.rule.replaces ?? []));
  return matches.map((match) => (match?.rule.limit !== undefined && replaced.has(match.rule.name) ? undefined : match));
}

interface LookedUp {
  readonly match: Match | undefined;
  /** Whether it denies together with all others of its kind, not by itself. */
  readonly isQuota: boolean;
  readonly hits: number;
  readonly isGiveBack: boolean;
}

/** Enough to be above every limit, and far from where numbers lose digits. */
const MAX_HITS = 2 ** 32;

function lookedUp(
  descriptor: Descriptor,
  match: Match | undefined,
  request: RateLimitRequest,
  settings: EnvoySettings,
): LookedUp {
  const hits = Math.min(descriptor.hitsAddend ?? Math.max(1, request.hitsAddend), MAX_HITS);
  const isGiveBack = descriptor.isNegativeHits === true;
  return { match, isQuota: countsAsQuota(match, settings), hits, isGiveBack };
}

/**
 * QUOTA_MODE makes one of every descriptor, also of one that no rule is for: that is never over, and so the request is OK. An unlimited
 * rule is no quota, whatever the file says: it does not save a request whose quotas are all spent. Both as with the reference server.
 */
function countsAsQuota(match: Match | undefined, { quotaMode }: EnvoySettings): boolean {
  if (match === undefined) return quotaMode;
  return match.rule.limit !== undefined && (match.rule.quota || quotaMode);
}

async function spendAll(
  looked: readonly LookedUp[],
  { settings, limiter }: EnvoyContext,
): Promise<ReadonlyMap<LookedUp, Outcome>> {
  // One quota that is never over lets everything through that the others do not.
  const canQuotaDeny = looked.every(
    ({ isQuota, match, isGiveBack }) => !isQuota || (canDeny(match) && !match!.rule.shadow && !isGiveBack),
  );
  const limited = looked.filter(({ match }) => canDeny(match));
  const spends = limited.map(({ match, isQuota, hits, isGiveBack }): Spend => {
    const { key, rule } = match!;
    const isEnforced = !rule.shadow && !isQuota;
    return { key, limit: rule.limit!, hits, isGiveBack, isEnforced, isQuota: isQuota && canQuotaDeny };
  });
  const outcomes = await spendOf(settings.denied, spends, limiter);
  return new Map(limited.map((item, index) => [item, outcomes[index]!]));
}

function canDeny(match: Match | undefined): boolean {
  return match?.rule.limit !== undefined;
}

interface Judged extends LookedUp {
  readonly outcome: Outcome | undefined;
  readonly status: DescriptorStatus;
}

const NOT_LIMITED: DescriptorStatus = {
  code: 'OK',
  currentLimit: undefined,
  limitRemaining: 0,
  durationUntilReset: undefined,
};
const UNLIMITED: DescriptorStatus = { ...NOT_LIMITED, limitRemaining: 2 ** 32 - 1 };

function judge(item: LookedUp, outcome: Outcome | undefined): Judged {
  const { match } = item;
  if (match === undefined) return judged(item, outcome, NOT_LIMITED);
  const { limit, name, shadow } = match.rule;
  if (limit === undefined || outcome === undefined) return judged(item, outcome, UNLIMITED);
  const { requestsPerUnit, unit } = limit;
  const status: DescriptorStatus = {
    code: outcome.isOver && !shadow ? 'OVER_LIMIT' : 'OK',
    currentLimit: { requestsPerUnit, unit, name },
    limitRemaining: outcome.remaining,
    durationUntilReset: outcome.resetSeconds,
  };
  return judged(item, outcome, status);
}

/** Written out, because spreading an object costs more than finding the limit. */
function judged(item: LookedUp, outcome: Outcome | undefined, status: DescriptorStatus): Judged {
  const { match, isQuota, hits, isGiveBack } = item;
  return { match, isQuota, hits, isGiveBack, outcome, status };
}

function count(
  { match, hits, isGiveBack, outcome }: Judged,
  domain: EnvoyDomain,
  ratio: number,
  stats: EnvoyStats,
): void {
  if (match?.rule.limit === undefined || outcome === undefined) return;
  if (isGiveBack) {
    stats.hit(domain, match.metric, { total_negative_hits: hits });
    return;
  }
  const { isOver, before } = outcome;
  const { over, near, within } = countHits({ hits, before, limit: match.rule.limit.size, isOver, ratio });
  stats.hit(domain, match.metric, {
    total_hits: hits,
    over_limit: over,
    near_limit: near,
    within_limit: within,
    over_limit_with_local_cache: isOver && outcome.isRemembered ? over : 0,
    shadow_mode: isOver && match.rule.shadow ? hits : 0,
  });
}

/** Over when something is that is no quota, or when all quotas are. */
function overallCode(judged: readonly Judged[], { shadowMode }: EnvoySettings, stats: EnvoyStats): Code {
  const isOver = ({ status }: Judged): boolean => status.code === 'OVER_LIMIT';
  const quotas = judged.filter(({ isQuota }) => isQuota);
  const isDenied = judged.some((item) => !item.isQuota && isOver(item)) || (quotas.length > 0 && quotas.every(isOver));
  if (!isDenied) return 'OK';
  if (!shadowMode) return 'OVER_LIMIT';
  stats.happened('global_shadow_mode');
  return 'OK';
}

/** Of the descriptor with the least remaining. One that denies, and is no quota, comes before; the last of several. */
function headersOf(judged: readonly Judged[], names: HeaderNames): readonly HeaderValue[] {
  const limited = judged.filter(({ status }) => status.currentLimit !== undefined);
  const denying = limited.filter(({ isQuota, status }) => !isQuota && status.code === 'OVER_LIMIT').at(-1);
  const least = limited.reduce<Judged | undefined>(
    (least, next) => (least === undefined || next.status.limitRemaining < least.status.limitRemaining ? next : least),
    undefined,
  );
  const chosen = (denying ?? least)?.status;
  if (chosen === undefined) return [];
  return [
    { key: names.limit, value: String(chosen.currentLimit!.requestsPerUnit) },
    { key: names.remaining, value: String(chosen.limitRemaining) },
    { key: names.reset, value: String(chosen.durationUntilReset) },
  ];
}

/** A rule without a limit has nothing to pass: the reference server leaves its metadata out, too. */
function passedMetadata(judged: readonly Judged[]): readonly Metadata[] {
  return judged.flatMap(({ match, status }) =>
    status.code === 'OK' && canDeny(match) && match!.rule.metadata !== undefined ? [match!.rule.metadata] : [],
  );
}
