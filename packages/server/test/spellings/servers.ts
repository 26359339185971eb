/**
 * Servers with two limited routes, `/login` and `/session/:id`, and nothing else: each as its framework or library routes requests, and nginx in
 * front of some. An answer of 200 means that a limited handler was reached.
 */
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { parse } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import express4 from 'express4';
import fastify, { type FastifyServerOptions } from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { findGateway, isRunning, randomPort, spawnServer, stopper } from '../../../../tools/servers/index.ts';
import { waitUntil } from '../../../../tools/servers/wait-until.ts';

export interface TargetServer {
  readonly name: string;
  readonly port: number;
  stop(): Promise<unknown>;
}

function isLimited(path: string): boolean {
  return path === '/login' || /^\/session\/[^/]+$/.test(path);
}

/** Routes by comparing texts. Who throws while reading a path refuses the request. */
function byPath(pathOf: (url: string) => string): RequestListener {
  return ({ url = '' }, response) => {
    try {
      response.statusCode = isLimited(pathOf(url)) ? 200 : 404;
    } catch {
      response.statusCode = 400;
    }
    response.end();
  };
}

const withoutQuery = (url: string): string => url.replace(/[?#].*/s, '');
const urlPath = (url: string): string => new URL(url, 'http://localhost').pathname;

/** Each invalid escape by itself, as many a hand-written server does it. */
function patiently(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  });
}

const asBytes = (text: string, encoding: BufferEncoding): string =>
  Buffer.from(
    text.replace(/%([\da-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
    'latin1',
  ).toString(encoding);

const LISTENERS: Readonly<Record<string, RequestListener>> = {
  'node, raw': byPath(withoutQuery),
  'node, new URL': byPath(urlPath),
  'node, new URL, decoded': byPath((url) => decodeURIComponent(urlPath(url))),
  'node, new URL, decoded patiently': byPath((url) => patiently(urlPath(url))),
  'node, url.parse, decoded': byPath((url) => decodeURIComponent(parse(url).pathname ?? '')),
  'node, decoded twice': byPath((url) => patiently(patiently(withoutQuery(url)))),
  'node, like a static file server': byPath((url) => posix.normalize(patiently(withoutQuery(url)))),
  'node, replacement characters': byPath((url) => posix.normalize(asBytes(withoutQuery(url), 'utf8'))),
  'node, Latin-1 in lower case': byPath((url) => posix.normalize(asBytes(withoutQuery(url), 'latin1')).toLowerCase()),
  'node, only what is valid': byPath((url) =>
    posix.normalize(asBytes(withoutQuery(url), 'utf8').replaceAll('\uFFFD', '')),
  ),
  'like Tomcat': byPath((url) => {
    const path = patiently(withoutQuery(url).replace(/;[^/]*/g, '')).replaceAll('\\', '/');
    return posix.normalize(path.replace(/\/{2,}/g, '/')).replace(/(?<=.)\/$/, '');
  }),
  'like Windows': byPath((url) => {
    const path = patiently(withoutQuery(url)).replaceAll('\\', '/').replace(/\0.*/s, '');
    return posix
      .normalize(path)
      .replace(/(?<=[^/.])[. ]+(?=\/|$)/g, '')
      .toLowerCase()
      .replace(/(?<=.)\/$/, '');
  }),
};

function limitedExpress(create: typeof express): RequestListener {
  const app = create();
  app.all('/login', (_, response) => void response.end());
  app.all('/session/:id', (_, response) => void response.end());
  return app;
}

function limitedHono(): RequestListener {
  const app = new Hono();
  app.all('/login', (context) => context.body(''));
  app.all('/session/:id', (context) => context.body(context.req.param('id').slice(0, 0)));
  return getRequestListener(app.fetch);
}

function limitedKoa(read: (path: string) => string): RequestListener {
  const app = new Koa();
  app.silent = true;
  app.use((context) => {
    context.status = isLimited(read(context.path)) ? 200 : 404;
  });
  return app.callback();
}

async function listening(name: string, listener: RequestListener): Promise<TargetServer> {
  const server = createServer({ insecureHTTPParser: true }, listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { name, port: (server.address() as AddressInfo).port, stop: () => closed(server) };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function limitedFastify(name: string, options: FastifyServerOptions): Promise<TargetServer> {
  const app = fastify(options);
  app.all('/login', async () => '');
  app.all('/session/:id', async () => '');
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { name, port: (app.server.address() as AddressInfo).port, stop: () => app.close() };
}

const LAX: FastifyServerOptions = {
  useSemicolonDelimiter: true,
  routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false },
};

export async function startServers(): Promise<TargetServer[]> {
  const own = await Promise.all([
    ...Object.entries(LISTENERS).map(([name, listener]) => listening(name, listener)),
    listening('Express 5', limitedExpress(express)),
    listening('Express 4', limitedExpress(express4 as unknown as typeof express)),
    listening('Hono', limitedHono()),
    listening(
      'Koa',
      limitedKoa((path) => path),
    ),
    listening(
      'Koa, decoded',
      limitedKoa((path) => decodeURIComponent(path)),
    ),
    limitedFastify('Fastify', {}),
    limitedFastify('Fastify, lax', LAX),
  ]);
  const behind = ['Express 5', 'Hono', 'Koa', 'Fastify', 'node, new URL, decoded patiently'];
  const proxied = await startNginx(own.filter(({ name }) => behind.includes(name)));
  return [...own, ...proxied];
}

/** As it came, normalised by nginx, and decoded by a config with a well-known mistake. */
const PROXYING = { 'as it came': '', normalised: '/', 'with $uri': '$uri' } as const;

async function startNginx(upstreams: readonly TargetServer[]): Promise<TargetServer[]> {
  const { file, env } = await findGateway('nginx');
  const folder = await mkdtemp(join(tmpdir(), 'sluice-spellings-'));
  await mkdir(join(folder, 'temporary'));
  const servers = upstreams.flatMap((upstream) =>
    Object.entries(PROXYING).map(([how, target]) => ({
      name: `nginx, ${how}, ${upstream.name}`,
      port: randomPort(),
      target: `http://127.0.0.1:${upstream.port}${target}`,
    })),
  );
  await writeFile(join(folder, 'nginx.conf'), configOf(servers));
  const log = join(folder, 'nginx.log');
  const args = ['-p', '.', '-c', 'nginx.conf', '-e', 'stderr', '-g', 'daemon off; master_process off;'];
  const child = spawnServer({ server: file, env: { ...env, HOME: folder } }, args, folder, log);
  const stop = stopper(child, folder);
  await waitUntil('nginx answers', async () => {
    if (!isRunning(child)) throw new Error(await readFile(log, 'utf8'));
    return fetch(`http://127.0.0.1:${servers[0]!.port}/login`).then(({ ok }) => ok);
  });
  return servers.map(({ name, port }, index) => ({ name, port, stop: index === 0 ? stop : async () => {} }));
}

function configOf(servers: readonly { readonly port: number; readonly target: string }[]): string {
  const blocks = servers.map(
    ({ port, target }) => `server { listen 127.0.0.1:${port}; location / { proxy_pass ${target}; } }`,
  );
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path temporary/${name};`,
  );
  return `pid nginx.pid; error_log stderr crit; worker_rlimit_nofile 4096;
events { worker_connections 2048; }
http { access_log off; ${places.join(' ')} ${blocks.join('\n')} }`;
}
