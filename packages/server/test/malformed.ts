/**
 * Requests that are wrong by construction, so that any answer but a refusal is a fault. Those of `malformed` leave the connection usable and can
 * be sent one after the other; after one of `unwelcome` or `broken` it has to end.
 */
import fc from 'fast-check';
import { MAX_KEY_LENGTH } from '../src/service/ask.ts';
import { ROUTES } from '../src/service/routes.ts';
import { rawRequest } from './raw.ts';

/** Of the service that is asked: smaller than the real one, so that reaching it is cheap. */
export const MAX_BODY_BYTES = 20_000;

const SUBJECT = { policy: 'api', key: 'a' };
const ASK = { ...SUBJECT, cost: 1 };
/** A right body for each verb, whose fields are then made wrong. */
const RIGHT: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  '/v1/attempt': ASK,
  '/v1/peek': ASK,
  '/v1/reserve': { ...ASK, ttl: 5 },
  '/v1/settle': { hold: 'x', actual: 1 },
  '/v1/refund': ASK,
  '/v1/reset': SUBJECT,
  '/v1/block': { ...SUBJECT, duration: '1s' },
  '/v1/unblock': SUBJECT,
};

const json = fc.jsonValue({ maxDepth: 3 });
const isWhole = (value: unknown, least: number, most: number): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
const window = { algorithm: 'fixed-window', limit: 1, window: '1s' };

/** For each field what is never right. */
const WRONG: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  key: fc.oneof(
    fc.integer({ min: MAX_KEY_LENGTH + 1, max: 15_000 }).map((length) => 'k'.repeat(length)),
    json.filter((value) => typeof value !== 'string' || value === ''),
  ),
  cost: json.filter((value) => !isWhole(value, 0, Number.MAX_SAFE_INTEGER)),
  policy: fc.oneof(
    json.filter((value) => typeof value !== 'string' || !['api', 'daily', 'trial', 'shaped'].includes(value)),
    fc.constantFrom('__proto__', 'constructor', 'toString', '{a}:api', 'api ', 'API'),
    fc.constantFrom(
      { ...window, name: 'api' },
      { ...window, limit: 0 },
      { ...window, limit: 1e17 },
      { ...window, window: '0s' },
      { ...window, window: '1e9d' },
      { ...window, more: 1 },
      { ...window, name: '' },
      { ...window, name: 'n'.repeat(5000) },
      { algorithm: '__proto__' },
      { algorithm: 'sliding-window-log', limit: 1e6, window: '1d' },
      { algorithm: 'token-bucket', capacity: 1, refillRate: '1/0s' },
    ),
  ),
  policies: fc.oneof(
    fc.constantFrom([], Array(17).fill('api'), ['api', 'api'], 'api', null, [null], [[]], Array(3000).fill({})),
    json.filter((value) => !Array.isArray(value)),
  ),
  plan: fc.oneof(
    fc.constantFrom('gold', '__proto__'),
    json.filter((value) => value !== 'pro'),
  ),
  ttl: json.filter((value) => !isWhole(value, 1, 3600)),
  hold: json.filter((value) => typeof value !== 'string'),
  actual: json.filter((value) => !isWhole(value, 0, Number.MAX_SAFE_INTEGER)),
  duration: fc.constantFrom(null, -5, 0, 'long', '1', '-1s', [], {}, true, '1e99d'),
  of: json.filter((value) => typeof value !== 'object' || value === null || !('decisions' in value)),
};

const verbs = Object.keys(RIGHT);
const verb = fc.constantFrom(...verbs);
const fieldsOf = (path: string): string[] =>
  Object.keys(RIGHT[path]!).flatMap((field) => (field === 'policy' ? ['policy', 'plan'] : [field]));

/** Undefined cannot be said in JSON: such a field would be left out, which may be right. */
const wrongField = verb
  .chain((path) => fc.tuple(fc.constant(path), fc.constantFrom(...fieldsOf(path))))
  .chain(([path, field]) =>
    WRONG[field]!.map((value) => ({ path, body: JSON.stringify({ ...RIGHT[path], [field]: value }) })),
  );
const wrongPolicies = fc
  .tuple(fc.constantFrom('/v1/attempt', '/v1/reset'), WRONG.policies!)
  .map(([path, policies]) => ({ path, body: JSON.stringify({ key: 'a', policies }) }));
const missingField = verb
  .chain((path) =>
    fc.tuple(fc.constant(path), fc.constantFrom(...(path === '/v1/settle' ? ['hold', 'actual'] : ['key', 'policy']))),
  )
  .map(([path, field]) => ({ path, body: JSON.stringify({ ...RIGHT[path], [field]: undefined }) }));
const unknownField = fc
  .tuple(verb, fc.oneof(fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString'), fc.string()), json)
  .filter(
    ([path, name]) =>
      ![...Object.keys(RIGHT[path]!), 'policies', 'plan', 'cost', 'of', 'ttl', 'duration'].includes(name),
  )
  .map(([path, name, value]) => {
    const text = JSON.stringify(RIGHT[path]);
    return { path, body: `${text.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}` };
  });
const noObject = fc
  .tuple(
    verb,
    fc.oneof(fc.constantFrom('null', '[]', 'true', '""', '0', 'NaN', 'undefined', ''), fc.double().map(String)),
  )
  .map(([path, body]) => ({ path, body }));
const cutOff = fc
  .tuple(verb, fc.nat())
  .map(([path, at]) => [path, JSON.stringify(RIGHT[path]), at] as const)
  .map(([path, text, at]) => ({ path, body: text.slice(0, at % text.length) }));
/** No byte of these may stand anywhere in JSON, raw. */
const poisoned = fc
  .tuple(verb, fc.nat(), fc.constantFrom(0x00, 0x01, 0x0b, 0x1f, 0x80, 0xc0, 0xff))
  .map(([path, at, byte]) => {
    const bytes = Buffer.from(JSON.stringify(RIGHT[path]));
    const place = at % bytes.length;
    return { path, body: Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place)]) };
  });
const nested = fc
  .tuple(verb, fc.integer({ min: 2, max: 3000 }), fc.constantFrom(['[', ']'], ['{"a":', '}']))
  .map(([path, depth, [open, close]]) => ({ path, body: `{"key":${open!.repeat(depth)}1${close!.repeat(depth)}}` }));

const bodies = fc.oneof(
  { weight: 8, arbitrary: wrongField },
  ...[wrongPolicies, missingField, unknownField, noObject, cutOff, poisoned, nested].map((arbitrary) => ({
    weight: 2,
    arbitrary: arbitrary as fc.Arbitrary<{ path: string; body: string | Uint8Array }>,
  })),
);
const wrongBody = fc
  .tuple(bodies, fc.option(fc.integer({ min: 1, max: 4000 }), { nil: undefined }))
  .map(([{ path, body }, chunkBytes]) => rawRequest(`POST ${path}`, [], body, chunkBytes));

const known = new Set(ROUTES.map(({ path }) => path));
const target = fc
  .oneof(
    fc.webPath().map((path) => `/x${path}`),
    fc.constantFrom(
      ...verbs.flatMap((path) => [
        ...[`${path}/`, `/${path}`, path.toUpperCase(), `${path}%00`, `${path};a=b`, `/v1/../v1${path}`, `${path}%20`],
        ...[path.replace('v1', 'v2'), path.replace('/v1/', '/v1%2f'), path.replace('a', '%61').replace('e', '%65')],
        ...[`http://x${path}`, `//x${path}`, `${path}/api`, `/.${path}`, '*', '/__proto__', '/constructor'],
      ]),
    ),
  )
  .filter((path) => !known.has(path));
const wrongPath = fc
  .tuple(fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND'), target)
  .map(([method, path]) => rawRequest(`${method} ${path}`, [], '{}'));
const wrongMethod = fc
  .tuple(fc.constantFrom('GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'SEARCH', 'LOCK'), verb)
  .map(([method, path]) => rawRequest(`${method} ${path}`, [], method === 'TRACE' ? '' : '{}'));

const text = fc.webQueryParameters().map((value) => encodeURIComponent(value));
const wrongCheck = fc
  .oneof(
    fc.constantFrom('', 'key=', 'by=', 'by=moon', 'by=header:', `by=${'ip%7C'.repeat(90)}`, 'by=header:x-none'),
    fc.constantFrom('key=a&cost=-1', 'key=a&cost=1.5', 'key=a&cost=1e3', 'key=a&cost=', 'key=a&deny=500'),
    fc.integer({ min: MAX_KEY_LENGTH + 1, max: 10_000 }).map((length) => `key=${'k'.repeat(length)}`),
    text.map((value) => `key=a&x${value}=1`),
    text.map((value) => `key=a&cost=x${value}`),
  )
  .map((query) => rawRequest(`GET /v1/check/api?${query}`, []));
const wrongCheckPolicy = text.map((name) => rawRequest(`GET /v1/check/x${name}?key=a`, []));
const wrongDescription = fc
  .constantFrom(
    [],
    ['X-Forwarded-Uri: /a', 'X-Original-URI: /b'],
    ['X-Forwarded-Uri: /upload/1', 'X-Forwarded-Method: POST'],
    ['X-Forwarded-Uri: /', `X-Api-Key: ${'k'.repeat(2000)}`],
  )
  .map((headers) => rawRequest('GET /v1/check', headers));

export const malformed: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 12, arbitrary: wrongBody },
  { weight: 3, arbitrary: wrongPath },
  { weight: 2, arbitrary: wrongMethod },
  { weight: 3, arbitrary: wrongCheck },
  { weight: 1, arbitrary: wrongCheckPolicy },
  { weight: 1, arbitrary: wrongDescription },
);

const HEAD = 'POST /v1/attempt HTTP/1.1\r\nHost: x\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const noise = fc.uint8Array({ minLength: 1, maxLength: 60 });
const latin = noise.map((bytes) =>
  Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(/[\r\n]/g, '!'),
);
const length = fc.constantFrom(
  '-1',
  '+5',
  '1e3',
  '0x5',
  'five',
  '5, 6',
  '5 5',
  '99999999999',
  '9'.repeat(30),
  '5;',
  '',
  ' ',
);

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const tooLarge = fc.integer({ min: MAX_BODY_BYTES + 1, max: 60_000 });

/** Nobody can say where these end, and so where another request begins. */
export const broken: fc.Arbitrary<Buffer> = fc
  .oneof(
    latin.map((line) => `\x01${line}\r\n\r\n`),
    fc
      .constantFrom('GET', 'get / HTTP/1.1', 'G@T / HTTP/1.1', 'GET / HTTP/9.9', 'GET / FTP/1.1')
      .map((line) => `${line}\r\nHost: x\r\n\r\n`),
    length.map((value) => `${HEAD}Content-Length: ${value}\r\n\r\n{}`),
    fc.constantFrom('5', '6').map((other) => `${HEAD}Content-Length: 4\r\nContent-Length: ${other}\r\n\r\n{}`),
    fc
      .constantFrom('gzip', 'chunked, gzip', 'identity', 'chunked, chunked', 'xchunked')
      .map((value) => `${HEAD}Transfer-Encoding: ${value}\r\n\r\n{}`),
    fc.constant(`${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
    fc
      .constantFrom('zz', '-1', 'f'.repeat(20), '5;\x00', ' ', '2\r\n{}!!', `1;${'x'.repeat(20_000)}`)
      .map((chunk) => `${CHUNKED}${chunk}\r\n`),
    fc
      .constantFrom('no colon', 'a b: c', ': c', 'a\x00: b', 'a: \x00', 'a: b\rc', ' folded: x')
      .map((line) => `${HEAD}${line}\r\n\r\n`),
    fc.integer({ min: 33_000, max: 60_000 }).map((size) => `${HEAD}X-Big: ${'x'.repeat(size)}\r\n\r\n`),
    tooLarge.map((size) => `${CHUNKED}${size.toString(16)}\r\n${' '.repeat(size)}\r\n`),
  )
  .map(latin1);

/** Whole, and not to be answered on a connection that goes on. */
export const unwelcome: fc.Arbitrary<Buffer> = fc
  .oneof(
    tooLarge.map((size) => `${HEAD}Content-Length: ${size}\r\n\r\n${' '.repeat(size)}`),
    fc.constant('POST /v1/attempt HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}'),
    fc.constant(`${HEAD}Expect: a miracle\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`),
  )
  .map(latin1);

/** What begins well and never ends. */
export const UNFINISHED: readonly string[] = [
  '',
  'POST',
  'POST /v1/attempt HTTP/1.1\r\n',
  `${HEAD}X-Slow: `,
  `${HEAD}Content-Length: 50\r\n\r\n`,
  `${HEAD}Content-Length: 50\r\n\r\n{"key"`,
  CHUNKED,
  `${CHUNKED}5\r\n{"key\r\n`,
  `${CHUNKED}fffff\r\n{"key`,
];
