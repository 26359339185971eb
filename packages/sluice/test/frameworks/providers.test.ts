/**
 * docs/operate/behind-a-proxy.md: every line of its table, with the headers that the provider sends, from a client that has tried to choose its address; and
 * real nginx, Caddy and HAProxy with the page's own configuration.
 */
import { chmod, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { afterEach, describe, expect, test } from 'vitest';
import { findGateway, isRunning, randomPort, spawnServer, stopper } from '../../../../tools/servers/index.ts';
import { waitUntil } from '../../../../tools/servers/wait-until.ts';
import { rateLimit } from '../../src/frameworks/express.ts';
import { byIp, type Key } from '../../src/http/index.ts';
import { type SluiceError, tokenBucket } from '../../src/index.ts';
import { textOf } from '../support/doc-blocks.ts';
import type { Running } from './contract.ts';
import { listening } from './servers.ts';

const PAGE = textOf('docs/operate/behind-a-proxy.md');
const CLIENT = '203.0.113.7';
/** What the client has written into the header, hoping for a limit of its own. */
const LIE = '9.9.9.9';

type Headers = Readonly<Record<string, string>>;
const forwarded = (value: string, more: Headers = {}): Headers => ({ 'x-forwarded-for': value, ...more });

/** What reaches the server, by the documentation of each. The socket is the last proxy's: here it is 127.0.0.1. */
const SHAPES: Readonly<Record<string, { readonly headers: Headers; readonly key?: string }>> = {
  nobody: { headers: forwarded(LIE), key: 'ip:127.0.0.1' },
  nginx: { headers: forwarded(`${LIE}, ${CLIENT}`) },
  Caddy: { headers: forwarded(CLIENT) },
  Traefik: { headers: forwarded(CLIENT, { 'x-real-ip': CLIENT }) },
  HAProxy: { headers: forwarded(`${LIE}, ${CLIENT}`) },
  'Kubernetes, ingress-nginx': { headers: forwarded(CLIENT, { 'x-real-ip': CLIENT }) },
  'Kubernetes, an HTTP load balancer before the ingress': { headers: forwarded(`${LIE}, ${CLIENT}, 10.0.3.4`) },
  'AWS Application Load Balancer': { headers: forwarded(`${LIE}, ${CLIENT}`) },
  'AWS CloudFront, then a load balancer': { headers: forwarded(`${LIE}, ${CLIENT}, 130.176.1.1`) },
  'AWS API Gateway (HTTP API), then your server': {
    headers: {
      ...forwarded(LIE),
      forwarded: `for=${LIE}, by=3.120.1.1;for=${CLIENT};host=api.example.org;proto=https`,
    },
  },
  Cloudflare: { headers: forwarded(`${LIE}, ${CLIENT}`, { 'cf-connecting-ip': CLIENT }) },
  'Cloudflare, then nginx': {
    headers: forwarded(`${LIE}, ${CLIENT}, 172.68.1.1`, { 'cf-connecting-ip': CLIENT }),
  },
  Heroku: { headers: forwarded(`${LIE}, ${CLIENT}`, { 'x-forwarded-proto': 'https' }) },
  'Fly.io': { headers: forwarded(`${LIE}, ${CLIENT}, 66.241.125.1`, { 'fly-client-ip': CLIENT }) },
  Vercel: { headers: forwarded(CLIENT, { 'x-real-ip': CLIENT, 'x-vercel-forwarded-for': CLIENT }) },
  Render: { headers: forwarded(`${LIE}, ${CLIENT}, 104.22.17.40`, { 'cf-connecting-ip': CLIENT }) },
  'Google Cloud load balancer': { headers: forwarded(`${LIE}, ${CLIENT}, 34.117.1.1`) },
  'AWS Network Load Balancer': { headers: forwarded(LIE), key: 'ip:127.0.0.1' },
};

/** The table of the page: who is in front, the key to write, and the setting of Express. */
const [, table = ''] = /^\| In front of your server .*?\n\|---.*?\n(.*?)\n\n/ms.exec(PAGE) ?? [];
const ROWS = table.split('\n').map((line) => {
  const [provider = '', key = '', setting = ''] = line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
  return { provider, key: key.replaceAll('`', ''), setting: setting.replaceAll('`', '') };
});

let running: Running | undefined;
const stops: (() => unknown)[] = [];
afterEach(async () => {
  await running?.stop();
  for (const stop of stops.splice(0)) await stop();
});

/** A server in which the lines of a row have been written, that answers with the key. */
async function serverWith(key: Key | undefined, setting: string): Promise<Running> {
  const app = express();
  new Function('app', setting)(app);
  const policy = tokenBucket({ capacity: 100, refillRate: 1 });
  const onWarning = (warning: SluiceError): never => expect.unreachable(warning.message);
  app.use(rateLimit({ policy, key, onWarning }), (request, response) => void response.end(request.rateLimit?.key));
  running = await listening(createServer(app).listen(0, '127.0.0.1'));
  return running;
}

const keyIn = (code: string): Key => new Function('byIp', `return ${code}`)(byIp);
const keySeen = async (port: number, headers: Headers): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/`, { headers })).text();

test('every row of the page has a shape here, and every shape a row', () => {
  expect(ROWS.map(({ provider }) => provider)).toEqual(Object.keys(SHAPES));
});

describe.each(ROWS)('$provider', ({ provider, key, setting }) => {
  const { headers, key: said = `ip:${CLIENT}` } = SHAPES[provider]!;

  test(key, async () => {
    const { port } = await serverWith(keyIn(key), '');
    expect(await keySeen(port, headers)).toBe(said);
  });

  if (setting !== '') {
    test(`${setting} and the default key`, async () => {
      const { port } = await serverWith(undefined, setting);
      expect(await keySeen(port, headers)).toBe(said);
    });
  }

  /** The same request without the lie is the same client. */
  test('what the client wrote changes nothing', async () => {
    const { port } = await serverWith(keyIn(key), '');
    const honest = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace(`for=${LIE}, `, '').replace(`${LIE}, `, '')]),
    );
    expect(await keySeen(port, honest)).toBe(said);
  });
});

/** The block of the page in a configuration that is as short as can be. */
const GATEWAYS = {
  nginx: {
    args: ['-p', '.', '-c', 'nginx.conf', '-e', 'stderr', '-g', 'daemon off; master_process off;'],
    file: 'nginx.conf',
    text: (block: string, port: number) => `events {}
http { access_log off; client_body_temp_path t/1; proxy_temp_path t/2; fastcgi_temp_path t/3; uwsgi_temp_path t/4; scgi_temp_path t/5;
  server { listen 127.0.0.1:${port}; location / { ${block} } } }`,
  },
  caddy: {
    args: ['run', '--config', 'Caddyfile'],
    file: 'Caddyfile',
    text: (block: string, port: number) => `{\n  admin off\n}\nhttp://:${port} {\n  bind 127.0.0.1\n  ${block}\n}\n`,
  },
  haproxy: {
    args: ['-db', '-f', 'haproxy.cfg'],
    file: 'haproxy.cfg',
    text: (block: string, port: number) =>
      `defaults\n  mode http\n  timeout connect 9s\n  timeout client 9s\n  timeout server 9s\nlisten app\n  bind 127.0.0.1:${port}\n  ${block}`,
  },
} as const;

async function startProxy(kind: keyof typeof GATEWAYS, upstream: number): Promise<number> {
  const { file: program, env } = await findGateway(kind);
  const { args, file, text } = GATEWAYS[kind];
  const language = kind === 'caddy' ? 'caddyfile' : kind;
  const [, block = ''] = new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(PAGE) ?? [];
  for (;;) {
    const folder = await mkdtemp(join(tmpdir(), `sluice-${kind}-`));
    await chmod(folder, 0o777);
    await mkdir(join(folder, 't'));
    await chmod(join(folder, 't'), 0o777);
    const port = randomPort();
    await writeFile(join(folder, file), text(block.replaceAll(':3000', `:${upstream}`), port));
    const log = join(folder, 'log');
    const child = spawnServer({ server: program, env: { ...env, HOME: folder } }, args, folder, log);
    const stop = stopper(child, folder);
    await waitUntil(`${kind} answers`, async () => !isRunning(child) || (await fetch(`http://127.0.0.1:${port}/`)).ok);
    if (isRunning(child)) {
      stops.push(stop);
      return port;
    }
    const said = await readFile(log, 'utf8');
    await stop();
    if (!/in use|cannot bind/i.test(said)) throw new Error(`${kind} ended:\n${said}`);
  }
}

describe.each(Object.keys(GATEWAYS) as (keyof typeof GATEWAYS)[])('a real %s', (kind) => {
  test('with the page: no header of the client changes its key', async () => {
    // The client is on this machine too: an address that is its own, and not the proxy's, is told apart by the lie alone.
    const { port: upstream } = await serverWith(byIp({ trustedProxies: 1 }), '');
    const port = await startProxy(kind, upstream);
    for (const headers of [{}, forwarded(LIE), forwarded(`${LIE}, 8.8.8.8`)]) {
      expect(await keySeen(port, headers)).toBe('ip:127.0.0.1');
    }
    // One proxy too many is trusted: the lie would be believed. So what the proxies pass on is really looked at.
    await running!.stop();
    const { port: trusting } = await serverWith(byIp({ trustedProxies: 2 }), '');
    const other = await startProxy(kind, trusting);
    expect(await keySeen(other, forwarded(LIE))).toBe(kind === 'caddy' ? 'ip:127.0.0.1' : `ip:${LIE}`);
  });
});
