/** The parts that code for a framework is put together from: where the state is kept, and who is limited. */

import type { CodeChoice, KeyName, StoreName } from './choice.ts';
import type { Coded } from './policy-code.ts';
import { policyCall } from './policy-code.ts';

/** Lines of a file, in the order in which they stand there. */
export interface Part {
  /** What has to be installed beside sluice. */
  readonly packages: readonly string[];
  readonly imports: readonly string[];
  readonly lines: readonly string[];
}

const URL_OF_REDIS = "process.env.REDIS_URL ?? 'redis://localhost:6379'";
/** Without a listener an error of the connection would end the program. */
const LISTENER = "client.on('error', (error) => console.error('Redis:', error.message));";

const STORES: Readonly<Record<StoreName, Part>> = {
  memory: { packages: [], imports: [], lines: [] },
  'node-redis': {
    packages: ['redis'],
    imports: ["import { createClient } from 'redis';", "import { redisStore } from 'sluice/node-redis';"],
    lines: [`const client = createClient({ url: ${URL_OF_REDIS} });`, LISTENER, 'await client.connect();'],
  },
  ioredis: {
    packages: ['ioredis'],
    imports: ["import { Redis } from 'ioredis';", "import { redisStore } from 'sluice/ioredis';"],
    lines: [`const client = new Redis(${URL_OF_REDIS});`, LISTENER],
  },
  'valkey-glide': {
    packages: ['@valkey/valkey-glide'],
    imports: [
      "import { GlideClient } from '@valkey/valkey-glide';",
      "import { redisStore } from 'sluice/valkey-glide';",
    ],
    lines: [
      `const { hostname, port } = new URL(${URL_OF_REDIS});`,
      'const addresses = [{ host: hostname, port: Number(port) || 6379 }];',
      'const client = await GlideClient.createClient({ addresses });',
    ],
  },
};

/** Imports, the connection, and the limiter itself. */
export function limiterPart(coded: Coded, store: StoreName): Part {
  const { packages, imports, lines } = STORES[store];
  const option = store === 'memory' ? [] : ['  store: redisStore(client),'];
  const limiter = ['const limiter = createLimiter({', `  policy: ${policyCall(coded)},`, ...option, '});'];
  return {
    packages,
    imports: [...imports, `import { createLimiter, ${coded.kind.factory} } from 'sluice';`],
    lines: [...(lines.length === 0 ? [] : [...lines, '']), ...limiter],
  };
}

const KEYS: Readonly<
  Record<KeyName, { readonly helper: string; readonly call: string; readonly lines: readonly string[] }>
> = {
  ip: { helper: 'byIp', call: 'byIp()', lines: ['// Behind a proxy: byIp({ trustedProxies: 1 })'] },
  'api-key': {
    helper: 'byHeader',
    call: "byHeader('x-api-key')",
    lines: ['// Check the key before this, or a client invents new ones.'],
  },
  user: {
    helper: 'byUser',
    call: 'userKey',
    lines: [
      '// Your own session lookup goes here.',
      "const sessions = new Map([['session=abc', 'user-42']]);",
      "const userKey = byUser((_request, view) => sessions.get(view.header('cookie') ?? ''));",
    ],
  },
};

export interface KeyPart {
  readonly imports: readonly string[];
  /** Lines before the limit is put to use. */
  readonly lines: readonly string[];
  /** What `key` is. */
  readonly call: string;
}

/** A queue protects the backend, so all callers share it. */
export function keyPart(coded: Coded, key: KeyName): KeyPart {
  if (coded.kind.shapes) {
    const lines = ['// One key for all: the backend gets one request at a time.'];
    return { imports: [], lines, call: "() => 'backend'" };
  }
  const { helper, call, lines } = KEYS[key];
  return { imports: [`import { ${helper} } from 'sluice/http';`], lines, call };
}

/** What is passed to `rateLimit`, in any framework. */
export function optionsOf(coded: Coded, { key }: CodeChoice, cost: number): string {
  const parts = ['limiter', `key: ${keyPart(coded, key).call}`, ...(cost === 1 ? [] : [`cost: ${cost}`])];
  return `{ ${parts.join(', ')} }`;
}

/** What happens to those who are too many. */
export function deniedNote({ kind }: Coded): string {
  return kind.shapes
    ? '// Requests wait for their slot. With a full queue they get a 429.'
    : '// Denied requests get a 429 with Retry-After.';
}
