/**
 * Who is limited, in one line: `header:x-api-key | ip + route`. A plus makes one key of several parts, a bar takes the first that
 * says something; plus binds tighter. The parts are the key helpers of sluice/http, so keys of different kinds never meet.
 */
import { anonymous, byHeader, byIp, byRoute, combine, firstOf, type Key } from 'sluice/http';
import type { TrustedProxies } from './config.ts';
import { claimName } from './jwt.ts';
import type { TokenOf } from './read-jwt.ts';

export const KEY_PARTS = 'ip, route, anonymous, everyone, header:NAME or claim:NAME';

/** What keys are made from, besides the request. */
export interface KeySources {
  readonly trustedProxies: TrustedProxies;
  readonly tokenOf?: TokenOf | undefined;
}

/** Throws an error that says what is wrong with the text. */
export function parseKey(text: string, sources: KeySources): Key {
  const choices = text.split('|').map((choice) => allOf(choice.split('+'), sources));
  return choices.length === 1 ? choices[0]! : firstOf(...choices);
}

function allOf(parts: readonly string[], sources: KeySources): Key {
  const keys = parts.map((part) => partOf(part.trim(), sources));
  return keys.length === 1 ? keys[0]! : combine(...keys);
}

function partOf(part: string, { trustedProxies, tokenOf }: KeySources): Key {
  if (part.startsWith('header:')) return byHeader(part.slice('header:'.length));
  if (part.startsWith('claim:')) return byClaim(part.slice('claim:'.length), tokenOf);
  const simple = Object.hasOwn(SIMPLE_PARTS, part) ? SIMPLE_PARTS[part as keyof typeof SIMPLE_PARTS] : undefined;
  if (simple === undefined) throw new TypeError(`expected ${KEY_PARTS}, got ${JSON.stringify(part.slice(0, 60))}`);
  return simple(trustedProxies);
}

const SIMPLE_PARTS = {
  ip: (trustedProxies: TrustedProxies): Key => byIp({ trustedProxies }),
  anonymous: (trustedProxies: TrustedProxies): Key => anonymous({ trustedProxies }),
  route: (): Key => byRoute(),
  everyone: (): Key => () => 'everyone',
} as const;

/** Whether a key is made of the path, among other things. */
export function isByRoute(text: string): boolean {
  return text.split(/[|+]/).some((part) => ['route', 'anonymous'].includes(part.trim()));
}

/** One claim of the token, such as its subject. */
function byClaim(name: string, tokenOf: TokenOf | undefined): Key {
  const claimOf = claimReader(name, tokenOf);
  return (view) => {
    const value = claimOf(view);
    return value === undefined ? undefined : `claim:${name}:${value}`;
  };
}

/** Throws an error where the config does not say what a token is. */
export function claimReader(name: string, tokenOf: TokenOf | undefined): Key {
  if (name === '') throw new TypeError('expected claim:NAME');
  if (tokenOf === undefined) throw new TypeError('expected a section jwt that says where the token is, for claim:NAME');
  return (view) => {
    const token = tokenOf(view);
    return 'claims' in token ? claimName(token.claims, name) : undefined;
  };
}
