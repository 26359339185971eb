/**
 * Rules cannot be avoided by spelling. Real servers say which spellings reach a limited handler; whatever does was limited by the rules, which saw
 * nothing but the path as the client sent it.
 */
import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyRules, spendsOfAll } from '../../src/config/apply-rules.ts';
import { UnreadablePath } from '../../src/config/request-paths.ts';
import { configOf } from '../support.ts';
import { startServers, type TargetServer } from './servers.ts';
import { plainPath, spellingOf } from './spellings.ts';

const seed = Number(process.env.SLUICE_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const COUNT = 3000;

const config = configOf(`
policies:
  limited: { algorithm: fixed-window, limit: 5, window: 1m }
  routes: { algorithm: fixed-window, limit: 5, window: 1m }
rules:
  - { name: health, match: { path: [/health, /static/**, /x/**] }, unlimited: true }
  - { name: limited, match: { path: [/login, /session/*] }, key: everyone, policy: limited }
  - { name: routes, key: route, policy: routes }
`);

interface Judged {
  readonly isRefused: boolean;
  readonly isLimited: boolean;
  /** By key. */
  readonly routes: readonly string[];
}

function judge(path: string): Judged {
  const view = { method: 'GET', path, ip: '127.0.0.1', header: () => undefined };
  try {
    const spends = spendsOfAll(applyRules(config, view, 0));
    const routes = spends.filter(({ policy }) => policy.name === 'routes').map(({ key }) => key);
    return { isRefused: false, isLimited: spends.some(({ policy }) => policy.name === 'limited'), routes };
  } catch (error) {
    // It is refused.
    if (error instanceof UnreadablePath) return { isRefused: true, isLimited: true, routes: ['path:GET /login'] };
    throw error;
  }
}

const LOGIN = fc.sample(spellingOf('login'), { numRuns: COUNT, seed });
const SESSION = fc.sample(spellingOf('session', 'abc'), { numRuns: COUNT, seed });

describe('whatever reaches a limited handler was limited', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  let servers: TargetServer[];
  beforeAll(async () => {
    console.log(`spellings: SLUICE_SEED=${seed}`);
    servers = await startServers();
  });
  afterAll(async () => {
    agent.destroy();
    await Promise.all(servers.map((server) => server.stop()));
  });

  const reaches = (port: number, path: string): Promise<boolean> =>
    new Promise((resolve) => {
      request({ host: '127.0.0.1', port, path, agent, headers: { host: 'localhost' } }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode === 200));
      })
        // A server that breaks off reaches nothing.
        .on('error', () => resolve(false))
        .end();
    });

  test.each([
    ['/login', LOGIN],
    ['/session/abc', SESSION],
  ])('%s in thousands of spellings', async (plain, spellings) => {
    const judgements = spellings.map(judge);
    // Some are refused unread; but few, or little would have been compared.
    expect(judgements.filter(({ isRefused }) => isRefused).length).toBeLessThan(COUNT / 5);
    const reached = await Promise.all(
      servers.map(async ({ name, port }) => {
        const hits: number[] = [];
        for (let at = 0; at < spellings.length; at += 100) {
          const batch = spellings.slice(at, at + 100).map((path) => reaches(port, path));
          (await Promise.all(batch)).forEach((isReached, index) => {
            if (isReached) hits.push(at + index);
          });
        }
        return { name, hits };
      }),
    );
    for (const { name, hits } of reached) {
      // Or nothing would have been tried.
      expect(hits.length, name).toBeGreaterThan(COUNT / 50);
      const missed = hits.filter((index) => !judgements[index]!.isLimited).map((index) => spellings[index]);
      expect(missed, `SLUICE_SEED=${seed}: ${name} reached by`).toEqual([]);
      if (plain !== '/login') continue;
      const elsewhere = hits.filter((index) => !judgements[index]!.routes.includes('path:GET /login'));
      expect(
        elsewhere.map((index) => [spellings[index], judgements[index]!.routes]),
        `SLUICE_SEED=${seed}: ${name}, by route`,
      ).toEqual([]);
    }
  });
});

/** Reached the handler on Hono, or on Express behind nginx, while the rules saw nothing to limit. */
test.each([
  '/x%ff/%2e%2e/login',
  '/%73ession/a%ff',
  '/s%65ssion/%',
  '/X%2fY/../login',
  '//x/login',
  '/%ff/..%2flogin',
  '/health%3f/../login',
  '/health#/../login',
  '/static/..%5clogin',
  '/log%ffin',
  '/login%00.png',
  '/%25%36%63ogin',
  '/l%u006fgin',
  '/%c0%ae%c0%ae%c0%aflogin',
  '/login%20',
  '/login;/x',
  '/session/a%2fb%252f..;x/c',
  '/\uff4cogin',
  '/\xef\xbd\x8cogin',
])('%s is limited', (path) => expect(judge(path).isLimited).toBe(true));

/** For Fastify an empty segment is an id, too. */
test.each([
  ['/session', false],
  ['/session/', true],
  ['/session/abc/..', true],
  ['/%2e/\xff%2f../%2e/session/a%62c%2f..', true],
  ['/session/a', true],
  ['/session/a/', true],
  ['/session/a/b', false],
  ['/sessions/', false],
])('%s is limited by /session/*: %s', (path, expected) => expect(judge(path).isLimited).toBe(expected));

test('plain paths of other routes are not limited, whatever is in them', () => {
  const limited = fc.sample(plainPath, { numRuns: COUNT, seed }).filter((path) => judge(path).isLimited);
  expect(limited, `SLUICE_SEED=${seed}`).toEqual([]);
});

test.each([
  '/health',
  '/health/',
  '/Health',
  '/static/a%20b.png',
  '/static/a%2fb.png',
  '/static/what%3f.png',
  '/static/50%.png',
  '/static/x;v=1/y.js',
])('%s stays unlimited', (path) => expect(judge(path)).toEqual({ isRefused: false, isLimited: false, routes: [] }));

test.each(['/health/..%2flogin', '/static/../login', '/static/%2e%2e/y', '/%68ealth', '/health;x', '/health%ff'])(
  '%s is not unlimited, because one reading of it is something else',
  (path) => expect(judge(path).routes).not.toEqual([]),
);

test('a path that can be read in hundreds of ways is refused, and quickly', () => {
  const view = (path: string) => ({ method: 'GET', path, ip: '127.0.0.1', header: () => undefined });
  const path = `/${'a%2f%5c%3b%3f%2e%2e;x//..\\b%ff%c0%af%u002f%252e'.repeat(3)}`;
  expect(() => applyRules(config, view(path), 0)).toThrow(UnreadablePath);
  // By rules that do not look at the path it is not read at all.
  const blind = configOf(
    '{ policies: { a: { algorithm: gcra, limit: 1, period: 1s } }, rules: [{ key: ip, policy: a }] }',
  );
  expect(spendsOfAll(applyRules(blind, view(path), 0))).toHaveLength(1);
});
