/**
 * Who is limited, in one line: `header:x-api-key | ip + route`. A plus makes one key of several parts, a bar takes the first that
 * says something; plus binds tighter. The parts are the key helpers of sluice/http, so keys of different kinds never meet.
 */
import { anonymous, byHeader, byIp, byRoute, combine, firstOf, type Key } from 'sluice/http';
import type { TrustedProxies } from './config.ts';

export const KEY_PARTS = 'ip, route, anonymous, everyone or header:NAME';

/** Throws an error that says what is wrong with the text. */
export function parseKey(text: string, trustedProxies: TrustedProxies): Key {
  const choices = text.split('|').map((choice) => allOf(choice.split('+'), trustedProxies));
  return choices.length === 1 ? choices[0]! : firstOf(...choices);
}

function allOf(parts: readonly string[], trustedProxies: TrustedProxies): Key {
  const keys = parts.map((part) => partOf(part.trim(), trustedProxies));
  return keys.length === 1 ? keys[0]! : combine(...keys);
}

function partOf(part: string, trustedProxies: TrustedProxies): Key {
  if (part.startsWith('header:')) return byHeader(part.slice('header:'.length));
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
