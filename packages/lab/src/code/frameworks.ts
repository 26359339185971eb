/** A small server in each framework that limits everything: to be pasted as it is, and changed from there. */
import type { CodeChoice, Framework } from './choice.ts';
import { deniedNote, type KeyPart, keyPart, limiterPart, optionsOf, type Part } from './parts.ts';
import type { Coded } from './policy-code.ts';

const PORT = 'Number(process.env.PORT ?? 3000)';

interface Template extends Pick<Part, 'packages' | 'imports'> {
  /** What stands below the limiter; `options` is what `rateLimit` is called with. */
  lines(options: string, note: string, key: KeyPart): readonly string[];
}

const TEMPLATES: Readonly<Record<Exclude<Framework, 'library' | 'service'>, Template>> = {
  express: {
    packages: ['express'],
    imports: ["import express from 'express';", "import { rateLimit } from 'sluice/express';"],
    lines: (options, note, key) => [
      'const app = express();',
      ...key.lines,
      note,
      `app.use(rateLimit(${options}));`,
      "app.get('/', (_request, response) => {",
      '  response.json({ ok: true });',
      '});',
      `app.listen(${PORT});`,
    ],
  },
  fastify: {
    packages: ['fastify'],
    imports: ["import { fastify } from 'fastify';", "import { rateLimit } from 'sluice/fastify';"],
    lines: (options, note, key) => [
      'const app = fastify();',
      ...key.lines,
      note,
      `await app.register(rateLimit, ${options});`,
      "app.get('/', async () => ({ ok: true }));",
      `await app.listen({ port: ${PORT} });`,
    ],
  },
  hono: {
    packages: ['hono', '@hono/node-server'],
    imports: [
      "import { serve } from '@hono/node-server';",
      "import { Hono } from 'hono';",
      "import { rateLimit } from 'sluice/hono';",
    ],
    lines: (options, note, key) => [
      'const app = new Hono();',
      ...key.lines,
      note,
      `app.use(rateLimit(${options}));`,
      "app.get('/', (c) => c.json({ ok: true }));",
      `serve({ fetch: app.fetch, port: ${PORT} });`,
    ],
  },
  koa: {
    packages: ['koa'],
    imports: ["import Koa from 'koa';", "import { rateLimit } from 'sluice/koa';"],
    lines: (options, note, key) => [
      'const app = new Koa();',
      ...key.lines,
      note,
      `app.use(rateLimit(${options}));`,
      'app.use((ctx) => {',
      '  ctx.body = { ok: true };',
      '});',
      `app.listen(${PORT});`,
    ],
  },
  nest: {
    packages: ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'],
    imports: [
      "import 'reflect-metadata';",
      "import { Controller, Get, Module } from '@nestjs/common';",
      "import { NestFactory } from '@nestjs/core';",
      "import { RateLimitModule } from 'sluice/nest';",
    ],
    lines: (options, note, key) => [
      '@Controller()',
      'class AppController {',
      '  @Get()',
      '  home() {',
      '    return { ok: true };',
      '  }',
      '}',
      '',
      ...key.lines,
      note,
      '@Module({',
      `  imports: [RateLimitModule.forRoot(${options})],`,
      '  controllers: [AppController],',
      '})',
      'class AppModule {}',
      '',
      "const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });",
      `await app.listen(${PORT});`,
    ],
  },
  fetch: {
    packages: [],
    imports: ["import { rateLimit } from 'sluice/fetch';"],
    lines: (options, note, key) => [
      ...key.lines,
      note,
      `const limited = rateLimit(${options});`,
      'export const handler = limited((_request: Request, _server: object) => Response.json({ ok: true }));',
      '// Bun.serve({ fetch: handler }), Deno.serve(handler),',
      '// or in a worker: export default { fetch: handler }',
    ],
  },
  node: {
    packages: [],
    imports: ["import { createServer } from 'node:http';", "import { rateLimit } from 'sluice/node';"],
    lines: (options, note, key) => [
      ...key.lines,
      note,
      `const limited = rateLimit(${options});`,
      'const server = createServer(limited((_request, response) => {',
      "  response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ ok: true }));",
      '}));',
      `server.listen(${PORT});`,
    ],
  },
};

/** A file that runs as it is. */
export function frameworkCode(
  framework: Exclude<Framework, 'library' | 'service'>,
  coded: Coded,
  choice: CodeChoice,
  cost: number,
): { readonly packages: readonly string[]; readonly code: string } {
  const template = TEMPLATES[framework];
  const limiter = limiterPart(coded, choice.store);
  const key = keyPart(coded, choice.key);
  const imports = sorted([...template.imports, ...limiter.imports, ...key.imports]);
  const lines = template.lines(optionsOf(coded, choice, cost), deniedNote(coded), key);
  return {
    packages: ['sluice', ...template.packages, ...limiter.packages],
    code: [...imports, '', ...limiter.lines, '', ...lines, ''].join('\n'),
  };
}

/** What has an effect by itself comes first, then by the name of the module. */
function sorted(imports: readonly string[]): readonly string[] {
  const moduleOf = (line: string): string => /'([^']+)';$/.exec(line)![1]!;
  const isBare = (line: string): number => (line.startsWith("import '") ? 0 : 1);
  return [...imports].sort((one, other) => isBare(one) - isBare(other) || (moduleOf(one) < moduleOf(other) ? -1 : 1));
}

/** Without a framework: the limiter is asked, and whoever asks does the rest. */
export function libraryCode(
  coded: Coded,
  { store, key }: CodeChoice,
  cost: number,
): { readonly packages: readonly string[]; readonly code: string } {
  const limiter = limiterPart(coded, store);
  const option = cost === 1 ? '' : `, { cost: ${cost} }`;
  const name = { ip: "'ip:203.0.113.7'", 'api-key': "'key:abc123'", user: "'user:42'" }[key];
  const use = coded.kind.shapes
    ? [
        '// Waits for its slot. One key for all: one request at a time.',
        `await limiter.acquire('backend'${option});`,
        "console.log('now it is your turn');",
      ]
    : [
        `const { allowed, remaining, retryAfter } = await limiter.attempt(${name}${option});`,
        "if (allowed) console.log('allowed, left:', remaining);",
        "else console.log('429 Too Many Requests, Retry-After:', Math.ceil(retryAfter ?? 1));",
      ];
  return {
    packages: ['sluice', ...limiter.packages],
    code: [...sorted(limiter.imports), '', ...limiter.lines, '', ...use, ''].join('\n'),
  };
}
