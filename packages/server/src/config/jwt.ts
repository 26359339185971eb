/**
 * What a JSON Web Token says of its bearer, once its signature has been verified. A key is for one algorithm, so no token can choose how
 * it is verified. Whoever needs more (key sets from a URL, encryption) lets the gateway verify, and says `unverified: true`.
 */
import { constants, createHmac, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import { isFields } from '../files/fields.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** Or why there are none, for people. */
export type Token = { readonly claims: Claims } | { readonly problem: string };

export interface JwtKey {
  readonly algorithm: JwtAlgorithm;
  readonly key: KeyObject;
  /** Only for tokens that name no other. */
  readonly kid: string | undefined;
}

export interface JwtChecks {
  /** Undefined: whoever sends it has verified it. */
  readonly keys: readonly JwtKey[] | undefined;
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
}

type IsSigned = (hash: string, data: string, signature: Buffer, key: KeyObject) => boolean;

const withSecret: IsSigned = (hash, data, signature, key) => {
  const wanted = createHmac(hash, key).update(data).digest();
  return signature.length === wanted.length && timingSafeEqual(signature, wanted);
};
const withPublicKey =
  (options: object = {}): IsSigned =>
  (hash, data, signature, key) =>
    verify(hash, Buffer.from(data), { key, ...options }, signature);
const withPss = withPublicKey({
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
});
const withCurve = withPublicKey({ dsaEncoding: 'ieee-p1363' });

const ALGORITHMS = {
  HS256: { kind: 'secret', hash: 'sha256', isSigned: withSecret },
  HS384: { kind: 'secret', hash: 'sha384', isSigned: withSecret },
  HS512: { kind: 'secret', hash: 'sha512', isSigned: withSecret },
  RS256: { kind: 'rsa', hash: 'sha256', isSigned: withPublicKey() },
  RS384: { kind: 'rsa', hash: 'sha384', isSigned: withPublicKey() },
  RS512: { kind: 'rsa', hash: 'sha512', isSigned: withPublicKey() },
  PS256: { kind: 'rsa', hash: 'sha256', isSigned: withPss },
  ES256: { kind: 'ec', hash: 'sha256', isSigned: withCurve },
} as const satisfies Readonly<Record<string, { kind: string; hash: string; isSigned: IsSigned }>>;

export type JwtAlgorithm = keyof typeof ALGORITHMS;
export const JWT_ALGORITHMS = Object.keys(ALGORITHMS) as readonly JwtAlgorithm[];

/** What kind of key an algorithm needs: a secret, or a public key of this type. */
export function keyKindOf(algorithm: JwtAlgorithm): 'secret' | 'rsa' | 'ec' {
  return ALGORITHMS[algorithm].kind;
}

/** `now` in milliseconds of Unix time. */
export function readJwt(text: string, checks: JwtChecks, now: number): Token {
  const [head, body, signature, ...more] = text.split('.');
  if (!head || !body || signature === undefined || more.length > 0) return { problem: 'the token is no JWT' };
  const header = jsonOf(head);
  const claims = jsonOf(body);
  if (header === undefined || claims === undefined) return { problem: 'the token is no JWT' };
  if (checks.keys !== undefined && !isSignedByOne(checks.keys, header, `${head}.${body}`, signature)) {
    return { problem: 'the signature of the token is not by a key of this config' };
  }
  const problem = timeProblem(claims, now) ?? partyProblem(claims, checks);
  return problem === undefined ? { claims } : { problem };
}

function jsonOf(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A header that demands understanding (`crit`) is understood by nobody here. */
function isSignedByOne(keys: readonly JwtKey[], { alg, kid, crit }: Claims, data: string, signature: string): boolean {
  if (crit !== undefined) return false;
  const bytes = Buffer.from(signature, 'base64url');
  return keys
    .filter((key) => key.algorithm === alg && (key.kid === undefined || kid === undefined || key.kid === kid))
    .some(({ algorithm, key }) => {
      const { hash, isSigned } = ALGORITHMS[algorithm];
      return isSigned(hash, data, bytes, key);
    });
}

/** Clocks differ. */
const LEEWAY_SECONDS = 60;

function timeProblem({ exp, nbf }: Claims, now: number): string | undefined {
  const seconds = now / 1e3;
  if (exp !== undefined && !(typeof exp === 'number' && seconds < exp + LEEWAY_SECONDS)) return 'the token has expired';
  if (nbf !== undefined && !(typeof nbf === 'number' && seconds > nbf - LEEWAY_SECONDS))
    return 'the token is not valid yet';
  return undefined;
}

function partyProblem({ iss, aud }: Claims, { issuer, audience }: JwtChecks): string | undefined {
  if (issuer !== undefined && iss !== issuer) return `the token is not by ${issuer}`;
  const isMeant = audience === undefined || (Array.isArray(aud) ? aud.includes(audience) : aud === audience);
  return isMeant ? undefined : `the token is not for ${audience}`;
}

/** A dot leads into a claim (`org.id`), where no claim has the whole name. */
function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : inner(claims, name.split('.'));
}

/** A claim as the texts it can be compared with: its own, or those of its items. */
export function claimTexts(claims: Claims, name: string): readonly string[] {
  const value = claimOf(claims, name);
  return (Array.isArray(value) ? value : [value]).flatMap((item) => {
    if (typeof item === 'string') return item === '' ? [] : [item];
    return item === true || Number.isFinite(item) ? [String(item)] : [];
  });
}

/**
 * A claim as somebody's name: a text or a number. A list is nobody's name, not even one of a single item; nor is a number so large that
 * those next to it are read as the same.
 */
export function claimName(claims: Claims, name: string): string | undefined {
  const value = claimOf(claims, name);
  if (typeof value === 'string') return value === '' ? undefined : value;
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? String(value) : undefined;
}

/** What says nothing (null, false, an empty text or list) is as good as absent. */
export function hasClaim(claims: Claims, name: string): boolean {
  return isFields(claimOf(claims, name)) || claimTexts(claims, name).length > 0;
}

function inner(claims: Claims, names: readonly string[]): unknown {
  let value: unknown = claims;
  for (const name of names) value = isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}
