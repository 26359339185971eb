/** tRPC 11 on its own server for Node. Each call of a procedure counts, also in a batch. */
import { initTRPC } from '@trpc/server';
import { type CreateHTTPContextOptions, createHTTPServer } from '@trpc/server/adapters/standalone';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit, retryAfterOf } from 'sluice/trpc';

const createContext = ({ req, res }: CreateHTTPContextOptions) => ({ req, res });

const t = initTRPC.context<typeof createContext>().create({
  // Clients read it as error.data.retryAfter.
  errorFormatter: ({ shape, error }) => ({ ...shape, data: { ...shape.data, retryAfter: retryAfterOf(error) } }),
});

const limited = t.procedure.use(rateLimit({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) }));
const logins = t.procedure.use(
  rateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) }),
);

const router = t.router({
  health: t.procedure.query(() => 'ok'),
  home: limited.query(({ ctx }) => ({ left: ctx.rateLimit?.remaining })),
  login: logins.mutation(() => ({ welcome: true })),
});
/** For clients: `createTRPCClient<AppRouter>(...)`. */
export type AppRouter = typeof router;

const server = createHTTPServer({ router, createContext });
server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
