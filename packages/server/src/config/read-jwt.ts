/** The section `jwt`: where the token is, and who may have signed it. */
import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import type { RequestView } from 'sluice/http';
import { type Fields, kindOf, readFields, readFlag, readText } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';
import {
  JWT_ALGORITHMS,
  type JwtAlgorithm,
  type JwtChecks,
  type JwtKey,
  keyKindOf,
  readJwt,
  type Token,
} from './jwt.ts';

/** What the token of a request says. */
export type TokenOf = (view: RequestView) => Token;
export type Environment = Readonly<Record<string, string | undefined>>;

const JWT_FIELDS = ['from', 'keys', 'unverified', 'issuer', 'audience'] as const;
const KEY_FIELDS = ['algorithm', 'key', 'env', 'kid'] as const;
export const HEADER_SOURCE = /^header:([\w!#$%&'*+.^`|~-]+)$/;

export function readJwtSection(value: unknown, problems: Problems, environment: Environment): TokenOf | undefined {
  if (value === undefined) return undefined;
  const fields = readFields(value, ['jwt'], problems, JWT_FIELDS);
  if (fields === undefined) return undefined;
  const optional = (field: 'issuer' | 'audience'): string | undefined =>
    fields[field] === undefined ? undefined : readText(fields[field], ['jwt', field], problems, 'a text');
  return tokenReader(readFrom(fields.from, problems), {
    keys: readKeys(fields, problems, environment),
    issuer: optional('issuer'),
    audience: optional('audience'),
  });
}

/** Each request's token is read once, however many rules ask. */
function tokenReader(header: string, checks: JwtChecks): TokenOf {
  const known = new WeakMap<RequestView, Token>();
  return (view) => {
    const found = known.get(view) ?? readFromHeader(view.header(header), checks);
    known.set(view, found);
    return found;
  };
}

function readFromHeader(value: string | undefined, checks: JwtChecks): Token {
  const text = value?.replace(/^bearer +/i, '').trim();
  return text === undefined || text === '' ? { problem: 'it has no token' } : readJwt(text, checks, Date.now());
}

function readFrom(value: unknown, problems: Problems): string {
  if (value === undefined) return 'authorization';
  const [, header] = (typeof value === 'string' && HEADER_SOURCE.exec(value)) || [];
  if (header === undefined) problems.add(['jwt', 'from'], `expected header:NAME, got ${kindOf(value)}`);
  return header?.toLowerCase() ?? '';
}

/** Nobody is believed by mistake: no keys is an error, unless the file says that somebody else has looked. */
function readKeys(fields: Fields, problems: Problems, environment: Environment): readonly JwtKey[] | undefined {
  const isUnverified = readFlag(fields.unverified, ['jwt', 'unverified'], problems);
  if (isUnverified) {
    if (fields.keys !== undefined) problems.add(['jwt', 'keys'], 'not together with unverified: true');
    return undefined;
  }
  if (!Array.isArray(fields.keys) || fields.keys.length === 0) {
    const expected = 'a list of keys, or unverified: true where the gateway has verified the token';
    problems.add(['jwt', 'keys'], `expected ${expected}, got ${kindOf(fields.keys)}`);
    return [];
  }
  return fields.keys.flatMap((item, index) => readKey(item, ['jwt', 'keys', index], problems, environment) ?? []);
}

function readKey(value: unknown, path: Path, problems: Problems, environment: Environment): JwtKey | undefined {
  const fields = readFields(value, path, problems, KEY_FIELDS);
  if (fields === undefined) return undefined;
  const kid =
    fields.kid === undefined ? undefined : readText(fields.kid, [...path, 'kid'], problems, 'the id of the key');
  const algorithm = fields.algorithm as JwtAlgorithm;
  const text = readKeyText(fields, path, problems, environment);
  if (!JWT_ALGORITHMS.includes(algorithm)) {
    problems.add([...path, 'algorithm'], `expected one of ${JWT_ALGORITHMS.join(', ')}, got ${kindOf(algorithm)}`);
    return undefined;
  }
  const key = text === undefined ? undefined : keyOf(text.value, algorithm);
  if (text !== undefined && key === undefined) problems.add(text.path, `expected ${KEY_TEXTS[keyKindOf(algorithm)]}`);
  return key === undefined ? undefined : { algorithm, key, kid };
}

interface KeyText {
  readonly value: string;
  readonly path: Path;
}

function readKeyText(fields: Fields, path: Path, problems: Problems, environment: Environment): KeyText | undefined {
  if ((fields.key === undefined) === (fields.env === undefined)) {
    problems.add(path, `expected either key or env, got ${fields.key === undefined ? 'neither' : 'both'}`);
    return undefined;
  }
  const field = fields.key === undefined ? 'env' : 'key';
  const text = readText(
    fields[field],
    [...path, field],
    problems,
    field === 'key' ? 'a key' : 'the name of a variable',
  );
  if (text === undefined) return undefined;
  const value = field === 'key' ? text : environment[text];
  if (value) return { value, path: [...path, field] };
  problems.add([...path, field], `expected a variable that holds the key, got nothing in ${text}`);
  return undefined;
}

const KEY_TEXTS = {
  secret: 'a secret of at least 16 characters',
  rsa: 'a public RSA key in PEM (-----BEGIN PUBLIC KEY-----)',
  ec: 'a public EC key in PEM (-----BEGIN PUBLIC KEY-----)',
} as const;

/** A private key is refused: it has no business here. */
function keyOf(text: string, algorithm: JwtAlgorithm): KeyObject | undefined {
  const kind = keyKindOf(algorithm);
  if (kind === 'secret') return text.length >= 16 ? createSecretKey(Buffer.from(text)) : undefined;
  if (text.includes('PRIVATE KEY')) return undefined;
  try {
    const key = createPublicKey(text);
    return key.asymmetricKeyType === kind ? key : undefined;
  } catch {
    return undefined;
  }
}
