/** Express 5 (and 4: the same code). Five requests at once, one more each minute; logins have a limit of their own. */
import express from 'express';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/express';

const app = express();

app.get('/health', (_request, response) => {
  response.send('ok'); // before the limit, so not limited
});

app.post(
  '/login',
  rateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) }),
  (_request, response) => {
    response.json({ welcome: true });
  },
);

app.use(rateLimit({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) }));

app.get('/', (request, response) => {
  response.json({ left: request.rateLimit?.remaining });
});

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
