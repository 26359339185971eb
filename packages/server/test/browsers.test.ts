/**
 * What a browser sends unasked: other people's pages must not spend, reset or read anything here. First row by row, then with a real
 * browser and a page that tries all it can.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { launchBrowser } from '../../../tools/browser.ts';
import { openLab } from '../src/lab/lab.ts';
import { findPage } from '../src/lab/page.ts';
import { jsonLog } from '../src/service/log.ts';
import { ROUTES } from '../src/service/routes.ts';
import { exchange, rawRequest } from './raw.ts';
import { type RunningService, startService } from './support.ts';

const SUBJECT = { policy: 'api', key: 'ann' };
const BODY = JSON.stringify(SUBJECT);
const JSON_TYPE = 'Content-Type: application/json';

let service: RunningService;
const start = async (options: Parameters<typeof startService>[0] = {}): Promise<void> => {
  service = await startService(options);
};
afterEach(() => service?.stop());

/** With the Host of the row, or a good one. */
async function ask(
  line: string,
  headers: readonly string[] = [],
  body = '',
): Promise<{ status: number; error?: string }> {
  const host = headers.find((header) => /^host:/i.test(header)) ?? `Host: 127.0.0.1:${service.port}`;
  const others = headers.filter((header) => !/^host:/i.test(header));
  const request = rawRequest(line, others, body).toString('latin1').replace('Host: x', host);
  const [response] = await exchange(service.port, [Buffer.from(request, 'latin1')], 1);
  const isJson = /^content-type: application\/json/im.test(response!.head);
  return { status: response!.status, ...(isJson ? { error: JSON.parse(response!.body).error } : {}) };
}

const apiRoutes = ROUTES.filter(({ access }) => access !== 'open').flatMap(({ methods, path }) =>
  methods.map((method) => `${method} ${path.replace(':policy', 'api?key=ann')}`),
);

describe('from another site', () => {
  beforeEach(() => start());

  test.each(apiRoutes)('%s is refused', async (line) => {
    const rows = [
      ['Sec-Fetch-Site: cross-site'],
      ['Sec-Fetch-Site: same-site'],
      ['Sec-Fetch-Site: something-new'],
      ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site'],
      ['Origin: https://evil.example'],
      ['Origin: null'],
      ['Origin:'],
      [`Origin: http://127.0.0.1:${service.port + 1}`],
      [`Origin: http://127.0.0.1:${service.port}.evil.example`],
      [`Origin: http://127.0.0.1:${service.port}@evil.example`],
      [`Origin: http://127.0.0.1:${service.port}`, 'Origin: https://evil.example'],
      [`Origin: http://127.0.0.1:${service.port}`, 'Sec-Fetch-Site: cross-site'],
      ['Origin: file://'],
    ];
    for (const headers of rows) {
      const answer = await ask(line, [JSON_TYPE, ...headers], line.startsWith('GET') ? '' : BODY);
      expect(answer, `${line} with ${headers.join()}`).toEqual({ status: 403, error: 'cross_site' });
    }
    expect((await service.post('/v1/peek', SUBJECT)).body.remaining).toBe(10);
  });

  test('with the token, too: a browser may have it in a page, and no page of another site is to use it', async () => {
    await service.stop();
    await start({ token: 'secret' });
    const headers = [JSON_TYPE, 'Authorization: Bearer secret', 'Origin: https://evil.example'];
    expect(await ask('POST /v1/reset', headers, BODY)).toEqual({ status: 403, error: 'cross_site' });
  });

  test.each(['GET /healthz', 'GET /readyz', 'GET /healthcheck'])('%s is answered', async (line) => {
    expect((await ask(line, ['Sec-Fetch-Site: cross-site', 'Origin: https://evil.example'])).status).toBe(200);
  });
});

describe('programs, one`s own page and the address bar are answered', () => {
  beforeEach(() => start());
  test.each([
    ['nothing', []],
    ['the address bar', ['Sec-Fetch-Site: none']],
    ['one`s own page', ['Sec-Fetch-Site: same-origin']],
    // As Node, Deno and Bun fetch.
    ['a program', ['Sec-Fetch-Mode: cors']],
  ])('%s', async (_, headers) => {
    expect((await ask('POST /v1/attempt', [JSON_TYPE, ...headers], BODY)).status).toBe(200);
    const own = `Origin: http://127.0.0.1:${service.port}`;
    expect((await ask('POST /v1/attempt', [JSON_TYPE, own, ...headers], BODY)).status).toBe(200);
  });
});

describe('gateways pass on what browsers say', () => {
  beforeEach(() => start());
  const BROWSER = ['Origin: https://shop.example', 'Sec-Fetch-Site: cross-site'];
  test.each([
    ['GET /v1/check', ['X-Forwarded-Uri: /a', 'X-Api-Key: k']],
    ['GET /v1/check', ['X-Original-URI: /a', 'X-Api-Key: k']],
    ['GET /v1/check/api?key=ann', ['X-Forwarded-For: 1.2.3.4']],
    ['GET /v1/check/api', ['X-Sluice-Key: ann']],
    ['POST /v1/check/api?key=ann', ['Forwarded: for=1.2.3.4']],
  ])('%s with %j is answered', async (line, headers) => {
    expect((await ask(line, [...BROWSER, ...headers])).status).toBe(200);
  });

  test('and only there', async () => {
    const headers = [JSON_TYPE, ...BROWSER, 'X-Forwarded-For: 1.2.3.4'];
    expect(await ask('POST /v1/attempt', headers, BODY)).toEqual({ status: 403, error: 'cross_site' });
  });
});

describe('the type of a body', () => {
  beforeEach(() => start());
  const ORIGIN = () => `Origin: http://127.0.0.1:${service.port}`;
  /** Type, whether a program may send it, whether a browser may. */
  test.each([
    ['application/json', true, true],
    ['Application/JSON; charset=utf-8', true, true],
    ['application/vnd.api+json', true, true],
    ['application/x-www-form-urlencoded', true, false],
    ['text/plain;charset=UTF-8', true, false],
    [undefined, true, false],
    ['multipart/form-data; boundary=x', false, false],
    ['text/html', false, false],
    ['application/jsonx', false, false],
    ['x/application/json', false, false],
    ['text/plain; application/json', true, false],
  ])('%s: from a program %s, from a browser %s', async (type, program, browser) => {
    const headers = type === undefined ? [] : [`Content-Type: ${type}`];
    for (const path of ['/v1/attempt', '/v1/reset', '/json']) {
      const fromProgram = await ask(`POST ${path}`, headers, BODY);
      expect(fromProgram.status !== 415, path).toBe(program);
      expect((await ask(`POST ${path}`, [...headers, ORIGIN()], BODY)).status !== 415, path).toBe(browser);
      expect((await ask(`POST ${path}`, [...headers, 'Referer: http://a/'], BODY)).status !== 415, path).toBe(browser);
    }
  });

  test('without a body it does not matter', async () => {
    expect((await ask('POST /v1/check/api?key=ann', ['Content-Type: text/html', ORIGIN()])).status).toBe(200);
  });
});

describe('the name it is asked under', () => {
  const answered = [
    '127.0.0.1',
    '127.0.0.1:80',
    '[::1]:8080',
    '10.1.2.3:8080',
    '192.168.0.5',
    'localhost',
    'LOCALHOST:8080',
  ];
  const names = ['localhost.', 'lab.localhost', 'sluice', 'sluice:8080', 'x'];
  const refused = [
    'evil.example',
    'evil.example:8080',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '1.2.3',
    'a.b',
    'EVIL.example.',
  ];

  test.each([...answered, ...names])('%s is answered', async (host) => {
    await start();
    expect((await ask('POST /v1/attempt', [JSON_TYPE, `Host: ${host}`], BODY)).status).toBe(200);
  });

  test.each(refused)('%s is refused', async (host) => {
    await start();
    for (const line of apiRoutes)
      expect(await ask(line, [`Host: ${host}`])).toEqual({ status: 403, error: 'wrong_host' });
    expect((await ask('GET /readyz', [`Host: ${host}`])).status).toBe(200);
    // Also after a good one on the same connection.
    const good = rawRequest('GET /metrics', []);
    const bad = Buffer.from(rawRequest('GET /metrics', []).toString().replace('Host: x', `Host: ${host}`));
    const replies = await exchange(service.port, [good, bad], 2);
    expect(replies.map(({ status }) => status)).toEqual([200, 403]);
  });

  test.each([
    [['limits.example.com'], 'limits.example.com:443', 200],
    [['Limits.Example.com'], 'limits.example.com', 200],
    [['limits.example.com'], 'other.example.com', 403],
    [['limits.example.com'], 'x.limits.example.com', 403],
    [['*.example.com'], 'a.b.example.com', 200],
    [['*.example.com'], 'example.com', 403],
    [['*.example.com'], 'evilexample.com', 403],
    [['*'], 'whatever.example', 200],
  ])('with %j, %s is a %i', async (allowedHosts, host, status) => {
    await start({ allowedHosts });
    expect((await ask('GET /metrics', [`Host: ${host}`])).status).toBe(status);
    // A page behind a proxy that gives the server another Host.
    const page = `Origin: https://${host}`;
    expect((await ask('POST /v1/attempt', [JSON_TYPE, page], BODY)).status).toBe(status);
  });
});

test('no answer is to be taken for another type than it says', async () => {
  await start();
  const lines = ['GET /healthz', 'GET /metrics', 'GET /nowhere', 'PUT /v1/attempt', 'GET /v1/check', '?'];
  for (const line of lines) {
    const [response] = await exchange(service.port, [line === '?' ? '?\r\n\r\n' : rawRequest(line, [])], 1);
    expect(response!.head, line).toMatch(/^x-content-type-options: nosniff$/im);
  }
});

describe('a real browser, on a page of somebody else', () => {
  let browser: Browser;
  let evil: Server;
  let evilPort: number;
  beforeAll(async () => {
    browser = await launchBrowser(['--host-resolver-rules=MAP *.example 127.0.0.1']);
    evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<body>evil'));
    await once(evil.listen(0, '127.0.0.1'), 'listening');
    evilPort = (evil.address() as AddressInfo).port;
  });
  afterAll(async () => {
    await browser.close();
    evil.close();
  });
  beforeEach(async () => {
    const lab = await openLab(
      { page: await findPage() },
      jsonLog(() => {}),
    );
    await start({ beside: lab });
    await service.post('/v1/attempt', { ...SUBJECT, cost: 3 });
  });
  const spent = async (): Promise<number> => 10 - (await service.post('/v1/peek', SUBJECT)).body.remaining;

  /** In the page: every way to send something, and what came of it. */
  const attack = async (url: string): Promise<string[]> => {
    const body = JSON.stringify({ policy: 'api', key: 'ann' });
    const told: string[] = [];
    const attempt = async (how: string, act: () => unknown): Promise<void> => {
      try {
        const answer = (await act()) as Response | undefined;
        told.push(`${how}: ${answer instanceof Response && answer.type !== 'opaque' ? await answer.text() : 'unread'}`);
      } catch {
        told.push(`${how}: failed`);
      }
    };
    for (const path of ['/v1/attempt', '/v1/reset', '/v1/refund', '/json']) {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', undefined]) {
        const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
        const sent = type === undefined ? new Blob([body]) : body;
        await attempt('no-cors', () => fetch(url + path, { method: 'POST', mode: 'no-cors', body: sent, headers }));
        await attempt('cors', () => fetch(url + path, { method: 'POST', body: sent, headers }));
      }
      const headers = { 'content-type': 'application/json' };
      await attempt('json', () => fetch(url + path, { method: 'POST', body, headers }));
      await attempt('beacon', () => navigator.sendBeacon(url + path, body));
      const form = document.body.appendChild(document.createElement('form'));
      const frame = document.body.appendChild(document.createElement('iframe'));
      frame.name = `f${path}`;
      Object.assign(form, {
        method: 'POST',
        action: url + path,
        enctype: 'text/plain',
        target: `f${path}`,
      });
      const input = form.appendChild(document.createElement('input'));
      // A form in plain text is name=value: this one is JSON.
      Object.assign(input, { name: '{"policy":"api","key":"ann","plan":"', value: '"}' });
      await attempt(
        'form',
        () =>
          new Promise((done) => {
            frame.onload = done;
            form.submit();
            setTimeout(done, 500);
          }),
      );
    }
    const check = `${url}/v1/check/api?key=ann`;
    await attempt(
      'image',
      () =>
        new Promise((done) => {
          const image = new Image();
          image.onerror = image.onload = done;
          image.src = check;
        }),
    );
    await attempt('get', () => fetch(check, { mode: 'no-cors' }));
    await attempt('read', () => fetch(`${url}/v1/live`));
    return told;
  };

  test('of another origin: nothing is spent, changed or read', async () => {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${evilPort}/`);
    const told = await page.evaluate(attack, service.url);
    expect(told.length).toBeGreaterThan(35);
    expect(told.filter((line) => !/: (?:unread|failed)$/.test(line))).toEqual([]);
    expect(await spent()).toBe(3);
    await page.close();
  });

  test('whose name points here by now (DNS rebinding): the same', async () => {
    const page = await browser.newPage();
    const url = `http://rebound.example:${service.port}`;
    // The script is in a page under that name, whatever the page is: this one is served under every name.
    await page.goto(`${url}/healthz`);
    const told = await page.evaluate(attack, url);
    expect(told.filter((line) => !/unread|failed|wrong_host/.test(line))).toEqual([]);
    expect(told.filter((line) => line.includes('wrong_host')).length).toBeGreaterThan(10);
    expect(await spent()).toBe(3);
    await page.close();
  });

  test('and the lab, on its own page, works: by address and by name', async () => {
    for (const url of [service.url, service.url.replace('127.0.0.1', 'localhost')]) {
      const page = await browser.newPage();
      await page.goto(url);
      const answer = await page.evaluate(async () => {
        const body = JSON.stringify({ count: 2 });
        const headers = { 'content-type': 'application/json' };
        const response = await fetch('api/rate-limit/gcra/burst', { method: 'POST', body, headers });
        return [response.status, (await response.json()).length, document.cookie];
      });
      // Scripts do not see the cookie.
      expect(answer).toEqual([200, 2, '']);
      const [cookie] = await page.context().cookies();
      expect(cookie).toMatchObject({ name: 'sluice_lab', httpOnly: true, sameSite: 'Strict', secure: false });
      await page.close();
    }
  });
});
