/** What code is wanted: for which framework, where the state is kept, and who is limited. */

export const FRAMEWORKS = ['express', 'fastify', 'hono', 'koa', 'nest', 'fetch', 'node', 'library', 'service'] as const;
export const STORES = ['memory', 'node-redis', 'ioredis', 'valkey-glide'] as const;
export const KEYS = ['ip', 'api-key', 'user'] as const;

export type Framework = (typeof FRAMEWORKS)[number];
export type StoreName = (typeof STORES)[number];
export type KeyName = (typeof KEYS)[number];

export interface CodeChoice {
  readonly framework: Framework;
  readonly store: StoreName;
  readonly key: KeyName;
}

export const FRAMEWORK_TITLES: Readonly<Record<Framework, string>> = {
  express: 'Express',
  fastify: 'Fastify',
  hono: 'Hono',
  koa: 'Koa',
  nest: 'NestJS',
  fetch: 'Bun, Deno, workers',
  node: 'node:http',
  library: 'No framework',
  service: 'Service (YAML)',
};

export const STORE_TITLES: Readonly<Record<StoreName, string>> = {
  memory: 'Memory of the process',
  'node-redis': 'Redis (node-redis)',
  ioredis: 'Redis (ioredis)',
  'valkey-glide': 'Valkey (glide)',
};

export const KEY_TITLES: Readonly<Record<KeyName, string>> = { ip: 'IP address', 'api-key': 'API key', user: 'User' };

export const INITIAL_CHOICE: CodeChoice = { framework: 'express', store: 'memory', key: 'ip' };
