/** Koa 3 (and 2: the same code). A limit is a middleware, so a route takes the one that is its own. */
import Koa from 'koa';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/koa';

const app = new Koa();
const logins = rateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) });
const others = rateLimit({
  policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }),
  skip: ({ path }) => path === '/health',
});

app.use((ctx, next) => (ctx.path === '/login' ? logins(ctx, next) : others(ctx, next)));

app.use((ctx) => {
  if (ctx.path === '/health') ctx.body = 'ok';
  else if (ctx.path === '/login') ctx.body = { welcome: true };
  else ctx.body = { left: ctx.state.rateLimit?.remaining };
});

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
