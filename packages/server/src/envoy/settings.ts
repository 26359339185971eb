/** How the Envoy service behaves as a whole: the reference server's settings, under the names its environment variables have there. */
export interface EnvoySettings {
  /** What a denied request costs: nothing, or what it asked for, as with the reference server. */
  readonly denied: 'free' | 'spend';
  /**
   * Who may give hits back (`is_negative_hits`): whoever has the token, where there is one, as for /v1/refund; whoever may ask, as with the
   * reference server; or nobody.
   */
  readonly negativeHits: 'token' | 'allow' | 'refuse';
  /** SHADOW_MODE: the overall code is always OK; the statuses tell the truth. */
  readonly shadowMode: boolean;
  /** QUOTA_MODE: every rule is one of quota. */
  readonly quotaMode: boolean;
  /** LIMIT_RESPONSE_HEADERS_ENABLED, and the names of the three. Undefined: none. */
  readonly headers: HeaderNames | undefined;
  /** LIMIT_REQUEST_HEADERS_ENABLED: the same three for whoever Envoy passes the request on to. Undefined: none. */
  readonly requestHeaders: HeaderNames | undefined;
  /** RESPONSE_DYNAMIC_METADATA. */
  readonly dynamicMetadata: boolean;
  /** NEAR_LIMIT_RATIO: from which share of the limit on a hit is a near one, in metrics. */
  readonly nearLimitRatio: number;
  /** HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: not healthy without a domain. */
  readonly needsConfig: boolean;
}

export interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** How the Envoy service behaves when the config says nothing else. */
export const DEFAULT_SETTINGS: EnvoySettings = {
  denied: 'free',
  negativeHits: 'token',
  shadowMode: false,
  quotaMode: false,
  headers: undefined,
  requestHeaders: undefined,
  dynamicMetadata: false,
  nearLimitRatio: 0.8,
  needsConfig: false,
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws an error that names the variable. */
export function readSettings(environment: Environment): EnvoySettings {
  const flag = (name: string): boolean => readFlag(name, environment[name]);
  return {
    denied: oneOf('SLUICE_ENVOY_DENIED', environment, ['free', 'spend']) ?? DEFAULT_SETTINGS.denied,
    negativeHits:
      oneOf('SLUICE_ENVOY_NEGATIVE_HITS', environment, ['token', 'allow', 'refuse']) ?? DEFAULT_SETTINGS.negativeHits,
    shadowMode: flag('SHADOW_MODE'),
    quotaMode: flag('QUOTA_MODE'),
    headers: flag('LIMIT_RESPONSE_HEADERS_ENABLED') ? headerNames(environment, 'LIMIT') : undefined,
    requestHeaders: flag('LIMIT_REQUEST_HEADERS_ENABLED') ? headerNames(environment, 'LIMIT_REQUEST') : undefined,
    dynamicMetadata: flag('RESPONSE_DYNAMIC_METADATA'),
    nearLimitRatio: readRatio(environment.NEAR_LIMIT_RATIO),
    needsConfig: flag('HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED'),
  };
}

/** MERGE_DOMAIN_CONFIG: whether files may add to each other's domains. */
export function mergesDomains(environment: Environment): boolean {
  return readFlag('MERGE_DOMAIN_CONFIG', environment.MERGE_DOMAIN_CONFIG);
}

/** USE_CALENDAR_MONTH_RATE_LIMIT: whether a month is that of the calendar (UTC), and not 30 days. */
export function usesCalendarMonth(environment: Environment): boolean {
  return readFlag('USE_CALENDAR_MONTH_RATE_LIMIT', environment.USE_CALENDAR_MONTH_RATE_LIMIT);
}

function oneOf<Word extends string>(
  name: string,
  environment: Environment,
  words: readonly [Word, ...Word[]],
): Word | undefined {
  const text = environment[name];
  if (text === undefined || text === '' || words.includes(text as Word)) return (text || undefined) as Word | undefined;
  throw new TypeError(`${name}: expected ${words.join(' or ')}, got ${JSON.stringify(text)}`);
}

/** As Go reads it. */
function readFlag(name: string, text: string | undefined): boolean {
  if (text === undefined || text === '') return false;
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
  throw new TypeError(`${name}: expected true or false, got ${JSON.stringify(text)}`);
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;

function headerNames(environment: Environment, prefix: string): HeaderNames {
  const named = (suffix: string, otherwise: string): string => {
    const name = `${prefix}_${suffix}`;
    const text = environment[name] || otherwise;
    if (HEADER_NAME.test(text)) return text;
    throw new TypeError(`${name}: expected the name of a header, got ${JSON.stringify(text)}`);
  };
  return {
    limit: named('LIMIT_HEADER', 'RateLimit-Limit'),
    remaining: named('REMAINING_HEADER', 'RateLimit-Remaining'),
    reset: named('RESET_HEADER', 'RateLimit-Reset'),
  };
}

function readRatio(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_SETTINGS.nearLimitRatio;
  const ratio = Number(text);
  if (ratio > 0 && ratio <= 1) return ratio;
  throw new TypeError(`NEAR_LIMIT_RATIO: expected a number above 0 and up to 1, got ${JSON.stringify(text)}`);
}
