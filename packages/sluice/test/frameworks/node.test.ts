/** The contract on bare `node:http`, and upgrades to WebSocket. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { rateLimit, rateLimitUpgrade, type UpgradeOptions } from '../../src/frameworks/node.ts';
import { byHeader } from '../../src/http/index.ts';
import { createLimiter, manualClock, memoryStore, tokenBucket } from '../../src/index.ts';
import { type App, frameworkContract, type Running } from './contract.ts';
import { listening } from './servers.ts';

frameworkContract('node', (app: App) => {
  const limited = (options: App['options']) =>
    rateLimit(options)((request, response) => {
      const { status, body } = app.answer(request.rateLimit, (name) => request.headers[name]?.toString());
      response.writeHead(status).end(body);
    });
  const routes = new Map(Object.entries(app.routes).map(([path, options]) => [path, limited(options)]));
  const others = limited(app.options);
  const server = createServer((request, response) => void (routes.get(request.url ?? '') ?? others)(request, response));
  return listening(server.listen(0, '127.0.0.1'));
});

describe('upgrades', () => {
  const servers: Running[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop();
  });

  const BODY =
    '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",' +
    '"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,' +
    '"detail":"Too many requests. Retry after 10 seconds.",' +
    '"error":"rate_limited","message":"Too many requests. Retry after 10 seconds.","violated-policies":["live"]}';
  const ACCEPTED = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
  const serve = async (options: UpgradeOptions): Promise<number> => {
    const server = createServer().listen(0, '127.0.0.1');
    const limited = rateLimitUpgrade(options)((request, socket) => {
      socket.end(`${ACCEPTED}${request.rateLimit?.remaining} left`);
    });
    server.on('upgrade', limited);
    const running = await listening(server);
    servers.push(running);
    return running.port;
  };

  /** Everything that comes back, as it is on the wire. */
  const upgrade = async (port: number): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    socket.write(
      'GET /live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAccept: application/json\r\n\r\n',
    );
    let text = '';
    for await (const chunk of socket) text += chunk;
    return text;
  };

  test('allowed, then denied with a whole response', async () => {
    const clock = manualClock(0);
    const policy = tokenBucket({ name: 'live', capacity: 1, refillRate: 0.1 });
    const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
    const port = await serve({ limiter, policies: [policy] });
    expect(await upgrade(port)).toBe(`${ACCEPTED}0 left`);
    expect((await upgrade(port)).split('\r\n')).toEqual([
      'HTTP/1.1 429 Too Many Requests',
      'X-RateLimit-Limit: 1',
      'X-RateLimit-Remaining: 0',
      'X-RateLimit-Reset: 10',
      'RateLimit-Policy: "live";q=1;w=10',
      'RateLimit: "live";r=0;t=10',
      'Content-Type: application/json',
      'Cache-Control: no-store',
      'Retry-After: 10',
      `Content-Length: ${BODY.length}`,
      'Connection: close',
      '',
      BODY,
    ]);
    clock.advance(10_000);
    expect(await upgrade(port)).toBe(`${ACCEPTED}0 left`);
  });

  test('a header that is missing is a 401', async () => {
    const port = await serve({ policy: tokenBucket({ capacity: 1, refillRate: 1 }), key: byHeader('x-user') });
    expect((await upgrade(port)).split('\r\n')[0]).toBe('HTTP/1.1 401 Unauthorized');
  });

  test('an error is a 500, and is told', async () => {
    const onError = vi.fn();
    const key = () => 5 as never;
    const port = await serve({ policy: tokenBucket({ capacity: 1, refillRate: 1 }), key, onError });
    expect(await upgrade(port)).toBe(
      'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    );
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'SLUICE_INVALID_HTTP_KEY' }));
  });

  test('a status without a name, and a header that would end the line', async () => {
    const port = await serve({
      policy: tokenBucket({ capacity: 1, refillRate: 1 }),
      cost: 2,
      onDenied: () => ({ status: 418, headers: { 'X-Why': 'tea\r\nSet-Cookie: a=b' }, body: 'é' }),
    });
    expect((await upgrade(port)).split('\r\n')).toEqual([
      ...['HTTP/1.1 418 Denied', 'X-Why: tea  Set-Cookie: a=b', 'Content-Length: 2', 'Connection: close', '', 'é'],
    ]);
  });

  test('a client that resets the connection meanwhile ends nothing', async () => {
    let isAsked: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    let goOn: (key: string) => void = () => {};
    const key = () =>
      new Promise<string>((resolve) => {
        goOn = resolve;
        isAsked();
      });
    const port = await serve({ policy: tokenBucket({ capacity: 1, refillRate: 1 }), key });
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await asked;
    socket.resetAndDestroy();
    await new Promise((resolve) => setTimeout(resolve, 20));
    goOn('eve');
    expect(await upgradeLater(port, () => goOn('ada'))).toBe(`${ACCEPTED}0 left`);
  });

  const upgradeLater = async (port: number, go: () => void): Promise<string> => {
    const timer = setInterval(go, 5);
    try {
      return await upgrade(port);
    } finally {
      clearInterval(timer);
    }
  };
});
