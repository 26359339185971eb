/** Headers that stand for one value and come twice: refused, whatever the two say, and nothing is spent. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchange, rawRequest } from './raw.ts';
import { configOf, type RunningService, startService } from './support.ts';

const CONFIG = `
trustedProxies: 2
jwt: { from: header:x-token, unverified: true }
policies:
  api: { algorithm: fixed-window, limit: 9, window: 1h, plans: { pro: { limit: 99 } } }
rules:
  - { name: health, match: { path: /health }, unlimited: true }
  - { name: bots, match: { header: { x-bot: true } }, key: everyone, policy: api }
  - { name: tokens, match: { path: /token }, key: claim:sub | ip, policy: api }
  - { name: all, key: header:x-api-key | ip, plan: header:x-plan, policy: api }
`;

let service: RunningService;
beforeAll(async () => {
  service = await startService({ config: configOf(CONFIG) });
});
afterAll(() => service.stop());

const ask = async (path: string, headers: readonly string[]) =>
  (await exchange(service.port, [rawRequest(`GET ${path}`, headers)], 1))[0]!;

const URI = 'X-Forwarded-Uri: /a';
/** Path, headers, and the one that is there twice. */
const ROWS: readonly (readonly [path: string, headers: readonly string[], twice: string])[] = [
  ['/v1/check', ['X-Forwarded-Uri: /login', 'X-Forwarded-Uri: /health'], 'x-forwarded-uri'],
  ['/v1/check', ['X-Forwarded-Uri: /health', 'X-Forwarded-Uri: /health'], 'x-forwarded-uri'],
  ['/v1/check', ['X-Forwarded-Uri: /health', 'x-forwarded-uri:'], 'x-forwarded-uri'],
  ['/v1/check', ['X-FORWARDED-URI: /health', 'A: b', 'x-forwarded-uri: /login'], 'x-forwarded-uri'],
  ['/v1/check', ['X-Original-URI: /login', 'X-Original-Uri: /health'], 'x-original-uri'],
  ['/v1/check', [URI, 'X-Forwarded-Method: GET', 'X-Forwarded-Method: POST'], 'x-forwarded-method'],
  ['/v1/check', [URI, 'X-Original-Method: GET', 'X-Original-Method: POST'], 'x-original-method'],
  ['/v1/check', [URI, 'X-Api-Key: a', 'X-Api-Key: b'], 'x-api-key'],
  ['/v1/check', [URI, 'X-Api-Key: a', 'X-Plan: pro', 'X-Plan: free'], 'x-plan'],
  ['/v1/check', [URI, 'X-Bot: 1', 'X-Bot: 2'], 'x-bot'],
  ['/v1/check', ['X-Forwarded-Uri: /token', 'X-Token: a', 'X-Token: b'], 'x-token'],
  ['/v1/check/api', ['X-Sluice-Key: a', 'X-Sluice-Key: b'], 'x-sluice-key'],
  ['/v1/check/api', ['X-Sluice-Key: a', 'X-Sluice-Key: a'], 'x-sluice-key'],
  ['/v1/check/api?by=header:x-api-key', ['X-Api-Key: a', 'X-Api-Key: b'], 'x-api-key'],
  // Of some headers Node keeps the first alone, without a word.
  ['/v1/check/api?by=header:authorization', ['Authorization: a', 'Authorization: b'], 'authorization'],
  ['/v1/check/api?by=header:user-agent', ['User-Agent: a', 'User-Agent: b'], 'user-agent'],
];

describe('are refused', () => {
  test.each(ROWS)('%s with %j', async (path, headers, twice) => {
    const { status, body } = await ask(path, headers);
    expect([status, JSON.parse(body)]).toMatchObject([400, { error: 'duplicate_header', path: twice }]);
    expect(JSON.parse(body).message).toBe(
      `The header ${twice} comes twice. Only your gateway may set it: let the gateway remove the client's.`,
    );
  });

  test('and nothing was spent', async () => {
    expect((await service.get('/metrics')).text).not.toMatch(/sluice_decisions_total\{.*\} [1-9]/);
  });
});

test.each([
  ['/v1/check', [URI, 'X-Forwarded-For: 1.1.1.1', 'X-Forwarded-For: 2.2.2.2']],
  ['/v1/check', [URI, 'X-Unknown: 1', 'X-Unknown: 2']],
  ['/v1/check/api?key=a', ['X-Sluice-Key: 1', 'X-Sluice-Key: 2']],
  ['/v1/check/api?by=ip', ['X-Forwarded-For: 1.1.1.1', 'X-Forwarded-For: 2.2.2.2']],
])(
  '%s with %j is answered: lists may have several lines, and what nobody reads may be anything',
  async (path, headers) => {
    expect((await ask(path, headers)).status).toBe(200);
  },
);
