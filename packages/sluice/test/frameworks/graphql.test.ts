/** What operations of GraphQL cost, before and after they run; on graphql-js, and on real servers of Yoga and Apollo. */
import { createServer } from 'node:http';
import { ApolloServer } from '@apollo/server';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import { buildSchema, execute, getIntrospectionQuery, parse, subscribe } from 'graphql/index.js'; // What the servers load, too: there must be one copy of it.
import { createYoga } from 'graphql-yoga';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type GraphqlCall,
  type GraphqlRateLimitOptions,
  operationCost,
  rateLimit,
  rateLimitPlugin,
  useRateLimit,
} from '../../src/frameworks/graphql.ts';
import { byHeader, byUser } from '../../src/http/index.ts';
import { createLimiter, fixedWindow, type Limiter, manualClock, memoryStore } from '../../src/index.ts';
import type { Running } from './contract.ts';
import { listening } from './servers.ts';

const TYPES = /* GraphQL */ `
  directive @cost(weight: String!) on FIELD_DEFINITION
  directive @listSize(assumedSize: Int, slicingArguments: [String!]) on FIELD_DEFINITION
  interface Named { name: String! }
  type User implements Named { name: String! friends(first: Int): [User!]! report: String @cost(weight: "50") posts(first: Int): Posts! tags: [String!]! }
  type Bot implements Named { name: String! owner: User! }
  type Posts { edges: [Edge!]! total: Int! }
  type Edge { node: Post! }
  type Post { title: String! }
  type Query {
    me: User!
    users(first: Int, size: Int): [User!]!
    sized(n: Int): [User!]! @listSize(assumedSize: 4, slicingArguments: ["n"])
    named: [Named!]!
    grid: [[User!]!]!
    fails: String!
    maybe: String
  }
  type Mutation { rename(name: String!): User! }
  type Subscription { ticks: Int! }
`;
const schema = buildSchema(TYPES);
const costOf = (query: string, variableValues = {}, options = {}) =>
  operationCost({ schema, document: parse(query), variableValues }, options);

describe('before it runs', () => {
  test.each<[what: string, query: string, cost: number, variables?: object]>([
    ['every field costs 1', '{ me { name } }', 2],
    ['what is below a list, once for each item that is asked for', '{ users(first: 20) { name tags } }', 41],
    ['or for each of ten', '{ users { name } }', 11],
    ['lists in lists multiply', '{ users(first: 5) { friends(first: 3) { name } } }', 1 + 5 * (1 + 3)],
    ['a variable', 'query ($n: Int) { users(first: $n) { name } }', 8, { n: 7 }],
    ['its default', 'query ($n: Int = 6) { users(first: $n) { name } }', 7],
    ['one that is missing', 'query ($n: Int) { users(first: $n) { name } }', 11],
    ['a list of lists', '{ grid { name } }', 101],
    ['@cost of the schema', '{ me { report } }', 51],
    ['@listSize of the schema', '{ sized { name } }', 5],
    ['its arguments', '{ sized(n: 9) { name } }', 10],
    ['a connection', '{ me { posts(first: 5) { total edges { node { title } } } } }', 1 + 1 + 1 + 1 + 5 * 2],
    ['aliases count each', '{ a: me { name } b: me { name } c: me { name } }', 6],
    ['the same field twice is resolved once', '{ me { name name } me { name } }', 2],
    ['from two fragments, too', '{ me { ...A ...B } } fragment A on User { name } fragment B on User { name tags }', 3],
    [
      'an inline fragment',
      '{ named { name ... on User { report } ... on Bot { owner { name } } } }',
      1 + 10 * (1 + 50 + 2),
    ],
    [
      'fragments multiply like what they stand for',
      '{ users(first: 5) { ...F } } fragment F on User { name tags }',
      11,
    ],
    [
      'what is skipped costs nothing',
      'query ($no: Boolean!) { me @skip(if: true) { name } users @include(if: $no) { name } }',
      1,
      { no: false },
    ],
    ['__typename is free', '{ __typename me { __typename name } }', 2],
    ['under other names it is not', '{ a: __typename b: __typename c: __typename }', 3],
    ['mutations', 'mutation { rename(name: "x") { name } }', 2],
    ['an argument that is no number', 'query ($n: Int) { users(first: $n) { name } }', 11, { n: 'many' }],
    ['a field that the schema does not have', '{ nothing { at { all } } }', 3],
  ])('%s', (_, query, cost, variables = {}) => expect(costOf(query, variables)).toBe(cost));

  test('by a function, with other names for sizes and another length', () => {
    const fieldCost = ({ type, field, args }: { type: string | undefined; field: string; args: object }) =>
      type === 'Query' && field === 'users' && 'size' in args ? 100 : undefined;
    expect(costOf('{ users(size: 3) { name } }', {}, { fieldCost, sizeArguments: ['size'] })).toBe(103);
    expect(costOf('{ users { name } }', {}, { listSize: 2 })).toBe(3);
  });

  test('of several operations the one that runs', () => {
    const document = parse('query One { me { name } } query Two { users(first: 5) { name } }');
    const cost = (operationName?: string) => operationCost({ schema, document, operationName });
    expect([cost('One'), cost('Two'), cost('None'), cost()]).toEqual([2, 6, 1, 1]);
  });

  test('introspection counts by its document, not by how large the schema may be', () => {
    const cost = costOf(getIntrospectionQuery());

    expect(cost).toBe(220);
  });

  test('fragments that double and double are read once, and cost what they would', () => {
    const levels = 40;
    const fragments = Array.from(
      { length: levels },
      (_, level) =>
        `fragment F${level} on User { a: friends(first: 1) { ...F${level + 1} } b: friends(first: 1) { ...F${level + 1} } }`,
    );
    const query = `{ me { ...F0 } } ${fragments.join(' ')} fragment F${levels} on User { name }`;
    expect(costOf(query)).toBeGreaterThan(2 ** levels);
  });

  test.each([
    ['fragments in a circle', '{ me { ...A } } fragment A on User { friends(first: 1) { ...A } }'],
    [
      'more fields than anyone needs',
      `{ ${Array.from({ length: 30_000 }, (_, index) => `a${index}: me { name }`).join(' ')} }`,
    ],
    ['a list without end', '{ users(first: 2147483647) { friends(first: 2147483647) { name } } }'],
  ])('%s costs more than any limit', (_, query) => expect(costOf(query)).toBe(Number.MAX_SAFE_INTEGER));

  test.each([
    [{ size: 5 }, 'operationCost.size'],
    [{ listSize: -1 }, 'operationCost.listSize'],
    [{ sizeArguments: 'first' }, 'operationCost.sizeArguments'],
    [{ fieldCost: 5 }, 'operationCost.fieldCost'],
  ])('refuses %o', (options, path) =>
    expect(() => costOf('{ me { name } }', {}, options)).toThrow(expect.objectContaining({ path })),
  );
});

const user = (name: string) => ({
  name,
  tags: [],
  report: 'long',
  friends: () => [user('f')],
  posts: () => ({ edges: [], total: 0 }),
});
const root = {
  me: () => user('me'),
  users: ({ first = 2 }: { first?: number }) => Array.from({ length: Math.min(first, 2) }, () => user('one')),
  named: () => [{ __typename: 'User', ...user('one') }],
  fails: () => {
    throw new Error('no');
  },
  maybe: () => {
    throw new Error('no');
  },
  rename: ({ name }: { name: string }) => user(name),
};

const over = (limit: number): Limiter =>
  createLimiter({
    policy: fixedWindow({ name: 'units', limit, window: '1d', align: 'first' }),
    store: memoryStore({ clock: manualClock() }),
  });

describe('around execute', () => {
  const setup = (limit: number, options: Partial<GraphqlRateLimitOptions<unknown>> = {}) => {
    const limiter = over(limit);
    const limited = rateLimit({ limiter, key: () => 'ada', ...options })(execute);
    const ask = (query: string, variableValues = {}) =>
      limited({ schema, document: parse(query), rootValue: root, variableValues, contextValue: {} });
    const left = async () => (await limiter.peek('ada', { cost: 0 })).remaining;
    return { ask, left };
  };

  test('an operation reserves what it may cost, and pays what came back', async () => {
    const { ask, left } = setup(100);
    expect((await ask('{ users(first: 20) { name } }')).data).toEqual({ users: [{ name: 'one' }, { name: 'one' }] });
    await expect.poll(left).toBe(100 - 3);
    await ask(
      '{ users(first: 20) { ...F __typename } n: me { name } } fragment F on User { name friends(first: 1) { name } }',
    );
    await expect.poll(left).toBe(97 - (1 + 2 * (1 + 1 + 1) + 2));
  });

  test('more than was expected is paid, too', async () => {
    const { ask, left } = setup(100, { complexity: { listSize: 0 } });
    await ask('{ users { name tags } }');
    await expect.poll(left).toBe(100 - 5);
  });

  test('where there are errors nobody knows what ran: it stays at what was expected', async () => {
    const { ask, left } = setup(100);
    expect((await ask('{ users(first: 20) { name } fails }')).errors).toHaveLength(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await left()).toBe(100 - 22);
    expect((await ask('{ users(first: 20) { name } maybe }')).data?.users).toHaveLength(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await left()).toBe(100 - 44);
  });

  test('a denied one is a result with an error that says when, and nothing runs', async () => {
    const { ask } = setup(25);
    const me = vi.spyOn(root, 'users');
    const never = await ask('{ users(first: 30) { name } }');
    expect(JSON.parse(JSON.stringify(never))).toEqual({
      errors: [
        {
          message: 'Too many requests. This request costs more than its limit ever allows.',
          extensions: { code: 'RATE_LIMITED', cost: 31 },
        },
      ],
    });
    await ask('{ users(first: 20) { name } fails }');
    const denied = await ask('{ users(first: 4) { name } }');
    expect(denied.errors![0]).toMatchObject({
      message: 'Too many requests. Retry after 86400 seconds.',
      extensions: { code: 'RATE_LIMITED', retryAfter: 86_400, cost: 5 },
    });
    expect(me).toHaveBeenCalledTimes(1);
    me.mockRestore();
  });

  test('a cost of your own is what counts, and a resolver that throws gives its place back', async () => {
    const { ask, left } = setup(10, { cost: 3 });
    await ask('{ users(first: 20) { name } }');
    expect(await left()).toBe(7);
    const failing = rateLimit({ limiter: over(9), key: () => 'ada' })(() => Promise.reject(new Error('no')));
    await expect(failing({ schema, document: parse('{ me { name } }') })).rejects.toThrow('no');
  });

  test('subscriptions pay when they start', async () => {
    const limiter = over(9);
    const ticks = async function* () {
      yield { ticks: 1 };
    };
    const limited = rateLimit({ limiter, key: () => 'ada' })(subscribe);
    const stream = await limited({ schema, document: parse('subscription { ticks }'), rootValue: { ticks } });
    expect(stream).toHaveProperty('next');
    expect((await limiter.peek('ada', { cost: 0 })).remaining).toBe(8);
  });
});

let stop: (() => unknown) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

interface Ctx {
  readonly user?: string | undefined;
}
type Options = GraphqlRateLimitOptions<Ctx>;

const SERVERS: Record<string, (options: Options) => Promise<Running>> = {
  yoga(options) {
    const yoga = createYoga<object, Ctx>({
      schema: withRoot(),
      batching: true,
      logging: false,
      context: ({ request }) => ({ user: request.headers.get('x-user') ?? undefined }),
      plugins: [useRateLimit(options)],
    });
    return listening(createServer(yoga).listen(0, '127.0.0.1'));
  },
  async apollo(options) {
    const server = new ApolloServer<Ctx>({
      schema: withRoot(),
      allowBatchedHttpRequests: true,
      plugins: [rateLimitPlugin(options)],
      introspection: true,
    });
    await server.start();
    const app = express();
    const context = async ({ req, res }: { req: express.Request; res: express.Response }) => ({
      user: req.headers['x-user'] as string | undefined,
      req,
      res,
    });
    app.use('/graphql', express.json(), expressMiddleware(server, { context }));
    return listening(app.listen(0, '127.0.0.1'));
  },
};

/** Apollo takes no root value: the resolvers are in the schema. */
function withRoot() {
  const made = buildSchema(TYPES);
  for (const type of [made.getQueryType()!, made.getMutationType()!]) {
    for (const [name, field] of Object.entries(type.getFields())) {
      field.resolve = (_, args) => (root as Record<string, (args: never) => unknown>)[name]!(args as never);
    }
  }
  return made;
}

describe.each(Object.keys(SERVERS))('%s', (name) => {
  const serve = async (options: Options) => {
    const running = await SERVERS[name]!(options);
    stop = running.stop;
    return async (body: unknown, headers: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${running.port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
        body: JSON.stringify(typeof body === 'string' ? { query: body } : body),
      });
      return { status: response.status, headers: response.headers, body: await response.json() };
    };
  };

  test('an operation pays what it cost, and its response has the headers', async () => {
    const limiter = over(100);
    const ask = await serve({ limiter, headers: 'draft' });
    const { body, headers } = await ask('{ users(first: 20) { name } }');
    expect(body).toEqual({ data: { users: [{ name: 'one' }, { name: 'one' }] } });
    expect(headers.get('ratelimit')).toBe('"units";r=79;t=86400');
    await expect.poll(async () => (await limiter.peek('ip:127.0.0.1', { cost: 0 })).remaining).toBe(97);
  });

  test('a denied one is a 429 with a code and a time, and no field is resolved', async () => {
    const ask = await serve({ limiter: over(5) });
    const resolved = vi.spyOn(root, 'users');
    const never = await ask('{ users(first: 20) { name } }');
    expect(never.body.errors[0].extensions).toMatchObject({ code: 'RATE_LIMITED', cost: 21 });
    await ask('{ me { name tags } a: __typename }');
    await ask('{ a: __typename }');
    const { status, headers, body } = await ask('{ me { name } }');
    expect([status, headers.get('retry-after')]).toEqual([429, '86400']);
    expect(body.errors).toEqual([
      expect.objectContaining({
        message: 'Too many requests. Retry after 86400 seconds.',
        extensions: expect.objectContaining({ code: 'RATE_LIMITED', retryAfter: 86_400, cost: 2 }),
      }),
    ]);
    expect(body.errors[0].extensions).not.toHaveProperty('http');
    expect(resolved).not.toHaveBeenCalled();
    resolved.mockRestore();
  });

  test('each operation of a batch pays', async () => {
    const ask = await serve({ limiter: over(5) });
    const { body } = await ask(Array.from({ length: 4 }, () => ({ query: '{ me { name } }' })));
    const answers = (body as { data?: object | null; errors?: { extensions: { code: string } }[] }[]).map(
      ({ errors }) => errors?.[0]?.extensions.code ?? 'ok',
    );
    expect(answers.filter((each) => each === 'ok')).toHaveLength(2);
    expect(answers.filter((each) => each === 'RATE_LIMITED')).toHaveLength(2);
  });

  test('documents that are none cost 1, and tell what is wrong with them', async () => {
    const limiter = over(9);
    const ask = await serve({ limiter });
    expect((await ask('{ me {')).body.errors[0].message).toContain('Syntax Error');
    expect((await ask('{ nothing }')).body.errors[0].message).toContain('nothing');
    await expect.poll(async () => (await limiter.peek('ip:127.0.0.1', { cost: 0 })).remaining).toBe(7);
  });

  test('introspection is counted like all else', async () => {
    const ask = await serve({ limiter: over(50) });
    expect((await ask(getIntrospectionQuery())).body.errors[0].extensions.code).toBe('RATE_LIMITED');
  });

  test('keys see the context and the headers; nobody there is UNAUTHENTICATED', async () => {
    const ask = await serve({
      limiter: over(9),
      key: byUser(({ contextValue }: GraphqlCall<Ctx>) => contextValue.user),
    });
    expect((await ask('{ me { name } }', { 'x-user': 'ada' })).status).toBe(200);
    const { status, body } = await ask('{ me { name } }');
    expect([status, body.errors[0].extensions.code, body.errors[0].message]).toEqual([
      ...[401, 'UNAUTHENTICATED', 'This request does not say who is calling: a user who is logged in is missing.'],
    ]);
    await stop?.();
    const byKey = await serve({ limiter: over(9), key: byHeader('x-api-key') });
    expect((await byKey('{ me { name } }', { 'x-api-key': 'k' })).status).toBe(200);
  });

  test('a policy and a store, as everywhere', async () => {
    const store = memoryStore({ clock: manualClock() });
    const ask = await serve({ policy: fixedWindow({ name: 'api', limit: 3, window: '1d' }), store });
    expect([(await ask('{ me { name } }')).status, (await ask('{ me { name } }')).status]).toEqual([200, 429]);
  });
});
