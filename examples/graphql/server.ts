/** GraphQL Yoga: an operation costs what it asks for. A hundred units, and two come back each second. */
import { createServer } from 'node:http';
import { createSchema, createYoga } from 'graphql-yoga';
import { tokenBucket } from 'sluice';
import { useRateLimit } from 'sluice/graphql';

const users = Array.from({ length: 50 }, (_, id) => ({ name: `user ${id}` }));

const schema = createSchema({
  typeDefs: /* GraphQL */ `
    directive @cost(weight: String!) on FIELD_DEFINITION
    type User { name: String! report: String! @cost(weight: "20") }
    type Query { users(first: Int): [User!]! }
  `,
  resolvers: {
    Query: { users: (_, { first = 10 }) => users.slice(0, first) },
    User: { report: () => 'long' },
  },
});

const yoga = createYoga({
  schema,
  batching: true,
  plugins: [useRateLimit({ policy: tokenBucket({ name: 'units', capacity: 100, refillRate: 2 }) })],
});

const server = createServer(yoga);
server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
