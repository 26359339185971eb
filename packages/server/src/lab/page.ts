/**
 * The lab's page: a few files that are read once, at the start, and packed once. What is not among them is not served, so no path can lead
 * anywhere else. Its headers forbid the page every request to another server.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Answer } from '../service/answer.ts';
import { HttpError } from '../service/http-error.ts';
import type { Route } from '../service/routes.ts';

export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};
const PACKED = ['.html', '.js', '.css', '.json', '.svg'];

interface PageFile {
  readonly body: Buffer;
  readonly packed: Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** By path, such as `index.html` and `assets/index-DiwrgTda.js`. */
export type Page = ReadonlyMap<string, PageFile>;

/** In the workspace where it is built; in the published package beside this code. */
const PLACES = [new URL('../../../lab/dist/', import.meta.url), new URL('../page/', import.meta.url)];

/** Undefined when there is none. */
export async function findPage(): Promise<Page | undefined> {
  for (const place of PLACES) {
    const page = await readPage(fileURLToPath(place));
    if (page !== undefined) return page;
  }
  return undefined;
}

export async function readPage(folder: string): Promise<Page | undefined> {
  const names = await namesIn(folder, '');
  const assets = await namesIn(join(folder, 'assets'), 'assets/');
  if (!names.includes('index.html')) return undefined;
  return new Map(
    await Promise.all([...names, ...assets].map(async (name) => [name, await readOne(folder, name)] as const)),
  );
}

async function namesIn(folder: string, before: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile() && extname(entry.name) in TYPES).map(({ name }) => before + name);
}

async function readOne(folder: string, name: string): Promise<PageFile> {
  const body = await readFile(join(folder, name));
  const packed = PACKED.includes(extname(name)) ? await promisify(gzip)(body, { level: 9 }) : undefined;
  // The names of assets hold a hash of what is in them: the same name is the same file for ever.
  const cacheControl = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
  return {
    body,
    packed,
    headers: {
      'Content-Type': TYPES[extname(name)]!,
      'Cache-Control': cacheControl,
      ETag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
      'Content-Security-Policy': CONTENT_SECURITY_POLICY,
      'Referrer-Policy': 'no-referrer',
      ...(packed === undefined ? {} : { Vary: 'Accept-Encoding' }),
    },
  };
}

/** Open to everyone, also where everything else needs the token: they are the same files for all, and hold nothing of anybody's. */
export function pageRoutes(page: Page): Route[] {
  return [
    {
      methods: ['GET'],
      path: '/',
      access: 'open',
      openness: { isForEveryone: true },
      handle: async ({ request }) => answer(page, 'index.html', request),
    },
    {
      methods: ['GET'],
      path: '/assets/:file',
      access: 'open',
      openness: { isForEveryone: true },
      handle: async ({ request, parameter }) => answer(page, `assets/${parameter}`, request),
    },
  ];
}

function answer(page: Page, name: string, { headers: asked }: IncomingMessage): Answer {
  const file = page.get(name);
  if (file === undefined) throw new HttpError(404, 'not_found', 'There is no such file.');
  const { body, packed, headers } = file;
  if (isSame(asked['if-none-match'], headers.ETag!)) return { status: 304, headers, body: '' };
  if (packed === undefined || !takesGzip(asked['accept-encoding'])) return { status: 200, headers, body };
  return { status: 200, headers: { ...headers, 'Content-Encoding': 'gzip' }, body: packed };
}

function isSame(known: string | undefined, tag: string): boolean {
  return known?.split(',').some((item) => item.trim().replace(/^W\//, '') === tag) === true;
}

function takesGzip(accepted: string | string[] | undefined): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(accepted ?? ''));
}
