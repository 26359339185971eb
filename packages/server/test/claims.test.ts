/** Tokens: who is believed, and rules that go by what a token says. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { explain } from '../src/config/explain.ts';
import { readConfig } from '../src/config/read-config.ts';

const SECRET = 'a secret of some length';
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

type Signer = (data: string) => Buffer;
const bySecret =
  (hash: string, secret: string): Signer =>
  (data) =>
    createHmac(hash, secret).update(data).digest();
const SIGNERS: Readonly<Record<string, Signer>> = {
  HS256: bySecret('sha256', SECRET),
  HS512: bySecret('sha512', SECRET),
  RS256: (data) => sign('sha256', Buffer.from(data), rsa.privateKey),
  PS256: (data) => sign('sha256', Buffer.from(data), { key: rsa.privateKey, padding: 6, saltLength: 32 }),
  ES256: (data) => sign('sha256', Buffer.from(data), { key: curve.privateKey, dsaEncoding: 'ieee-p1363' }),
};

function token(claims: object, header: object = { alg: 'HS256' }, signer: Signer = SIGNERS.HS256!): string {
  const data = `${encoded(header)}.${encoded(claims)}`;
  return `${data}.${signer(data).toString('base64url')}`;
}

const yaml = (value: unknown): string => JSON.stringify(value);
const RULES = `
policies:
  api: { algorithm: token-bucket, capacity: 10, refillRate: 1, plans: { pro: { capacity: 100 } } }
rules:
  - { name: admins, match: { claim: { roles: admin } }, unlimited: true }
  - { name: tenants, match: { claim: { org.id: "t-*", suspended: false } }, key: claim:org.id, policy: api, plan: claim:plan }
  - { name: others, match: { claim: { org: false } }, key: "claim:sub | ip", policy: api }
`;
const HS256 = { algorithm: 'HS256', env: 'SECRET' };
const configWith = (jwt: object) => {
  const { config, problems } = readConfig(`${RULES}jwt: ${yaml(jwt)}`, { SECRET });
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return config;
};

/** What is spent by a request with this header: the key, and how much the policy grants. */
function spent(jwt: object, authorization: string | undefined, header = 'authorization'): string {
  const view = {
    method: 'GET',
    path: '/',
    ip: '9.9.9.9',
    header: (name: string) => (name === header ? authorization : undefined),
  };
  const { spends, rules } = explain(configWith(jwt), view, Date.now());
  if (rules.some(({ outcome }) => outcome === 'unlimited')) return 'unlimited';
  if (spends.length === 0) return 'nobody limits it';
  return spends.map(({ key, policy }) => `${key} ${'capacity' in policy && policy.capacity}`).join(', ');
}

const NOBODY = 'ip:9.9.9.9 10';
const now = Math.floor(Date.now() / 1e3);

describe('rules by claims', () => {
  test.each<[object, string]>([
    [{ sub: 'ann' }, 'claim:sub:ann 10'],
    [{ sub: 42 }, 'claim:sub:42 10'],
    [{ sub: '' }, NOBODY],
    [{ sub: ['ann', 'bob'] }, NOBODY],
    [{ sub: ['ann'] }, NOBODY],
    [{ sub: true }, NOBODY],
    [{ sub: 2 ** 53 - 1 }, 'claim:sub:9007199254740991 10'],
    // Its neighbour is the same number to JSON: two people would have one limit.
    [{ sub: 2 ** 53 }, NOBODY],
    [{ sub: { name: 'ann' } }, NOBODY],
    [{ roles: ['user', 'admin'] }, 'unlimited'],
    [{ roles: 'admin' }, 'unlimited'],
    [{ roles: 'administrator', sub: 'ann' }, 'claim:sub:ann 10'],
    [{ org: { id: 't-1' } }, 'claim:org.id:t-1 10'],
    [{ 'org.id': 't-2', org: { id: 't-1' } }, 'claim:org.id:t-2 10'],
    [{ org: { id: 't-1' }, plan: 'pro' }, 'claim:org.id:t-1 100'],
    [{ org: { id: 't-1' }, plan: 'none' }, 'claim:org.id:t-1 10'],
    [{ org: { id: 't-1' }, suspended: false }, 'claim:org.id:t-1 10'],
    [{ org: { id: 't-1' }, suspended: true }, 'nobody limits it'],
    [{ org: { id: 'x-1' } }, 'nobody limits it'],
    [{ org: {}, sub: 'ann' }, 'nobody limits it'],
    [{ org: null, sub: 'ann' }, 'claim:sub:ann 10'],
  ])('%j', (claims, expected) => {
    expect(spent({ keys: [HS256] }, `Bearer ${token(claims)}`)).toBe(expected);
  });

  test('an explanation says why there are none', () => {
    const view = { method: 'GET', path: '/', ip: '9.9.9.9', header: () => token({ exp: 1 }) };
    const { text } = explain(configWith({ keys: [HS256] }), view, 0);
    expect(text).toContain('no   admins: it has no claim roles: the token has expired');
  });
});

describe('who is believed', () => {
  const keys = [
    HS256,
    { algorithm: 'HS512', env: 'SECRET' },
    { algorithm: 'RS256', key: pem(rsa.publicKey) },
    { algorithm: 'PS256', key: pem(rsa.publicKey) },
    { algorithm: 'ES256', key: pem(curve.publicKey) },
  ];
  const ann = 'claim:sub:ann 10';
  const claims = { sub: 'ann' };

  test.each(Object.keys(SIGNERS))('%s', (alg) => {
    expect(spent({ keys }, token(claims, { alg }, SIGNERS[alg]!))).toBe(ann);
    const [head, , signature] = token(claims, { alg }, SIGNERS[alg]!).split('.');
    expect(spent({ keys }, `${head}.${encoded({ sub: 'eve' })}.${signature}`)).toBe(NOBODY);
  });

  test.each<[why: string, jwt: object, text: string, expected: string]>([
    ['no bearer before it', { keys }, token(claims), ann],
    ['any case', { keys }, `bEaReR  ${token(claims)}`, ann],
    ['nothing', { keys }, '', NOBODY],
    ['rubbish', { keys }, 'Bearer a.b.c', NOBODY],
    ['two parts', { keys }, token(claims).split('.').slice(0, 2).join('.'), NOBODY],
    ['no signature', { keys }, `${token(claims).split('.').slice(0, 2).join('.')}.`, NOBODY],
    ['alg none', { keys }, token(claims, { alg: 'none' }, () => Buffer.alloc(0)), NOBODY],
    [
      'another secret',
      { keys },
      token(claims, { alg: 'HS256' }, bySecret('sha256', 'another secret, also long')),
      NOBODY,
    ],
    [
      'the public key taken for a secret',
      { keys },
      token(claims, { alg: 'HS256' }, bySecret('sha256', pem(rsa.publicKey))),
      NOBODY,
    ],
    ['an algorithm nobody has a key for', { keys: [HS256] }, token(claims, { alg: 'HS512' }, SIGNERS.HS512), NOBODY],
    ['a header that demands understanding', { keys }, token(claims, { alg: 'HS256', crit: ['x'] }), NOBODY],
    ['another algorithm than it is signed with', { keys }, token(claims, { alg: 'RS256' }), NOBODY],
    ['claims that are a list', { keys }, token(['ann']), NOBODY],
    ['the right kid', { keys: [{ ...HS256, kid: 'one' }] }, token(claims, { alg: 'HS256', kid: 'one' }), ann],
    ['another kid', { keys: [{ ...HS256, kid: 'one' }] }, token(claims, { alg: 'HS256', kid: 'two' }), NOBODY],
    ['still valid', { keys }, token({ ...claims, exp: now + 5, nbf: now - 5 }), ann],
    ['clocks that differ a little', { keys }, token({ ...claims, exp: now - 20, nbf: now + 20 }), ann],
    ['expired', { keys }, token({ ...claims, exp: now - 90 }), NOBODY],
    ['an exp that is no time', { keys }, token({ ...claims, exp: 'never' }), NOBODY],
    ['not valid yet', { keys }, token({ ...claims, nbf: now + 90 }), NOBODY],
    ['the right issuer', { keys, issuer: 'me' }, token({ ...claims, iss: 'me' }), ann],
    ['another issuer', { keys, issuer: 'me' }, token({ ...claims, iss: 'you' }), NOBODY],
    ['one of its audiences', { keys, audience: 'api' }, token({ ...claims, aud: ['web', 'api'] }), ann],
    ['no audience', { keys, audience: 'api' }, token(claims), NOBODY],
    ['verified by the gateway', { unverified: true }, token(claims, { alg: 'x' }, () => Buffer.from('?')), ann],
    ['verified, but expired', { unverified: true }, token({ ...claims, exp: now - 90 }), NOBODY],
  ])('%s', (_, jwt, text, expected) => {
    expect(spent(jwt, text)).toBe(expected);
  });

  test('in another header', () => {
    expect(spent({ keys, from: 'header:X-Token' }, token(claims), 'x-token')).toBe(ann);
    expect(spent({ keys, from: 'header:X-Token' }, token(claims))).toBe(NOBODY);
  });

  test('a private key in a config is refused', () => {
    const key = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { problems } = readConfig(`${RULES}jwt: ${yaml({ keys: [{ algorithm: 'RS256', key }] })}`);
    expect(problems.map(({ path }) => path)).toEqual(['jwt.keys[0].key']);
    expect(JSON.stringify(problems)).not.toContain(key.slice(40, 80));
  });
});
