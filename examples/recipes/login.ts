import express, { type Request } from 'express';
import { createLimiter, memoryStore, slidingWindowCounter } from 'sluice';
import { blockFor } from 'sluice/exceptions';
import { rateLimit } from 'sluice/express';
import { byUser } from 'sluice/http';

const store = memoryStore(); // redisStore(client) for several processes

// Five wrong passwords in 15 minutes lock the account: for 15 minutes, then 30, up to a day.
const accounts = createLimiter({
  policy: blockFor(slidingWindowCounter({ name: 'account', limit: 5, window: '15m' }), { first: '15m', most: '1d' }),
  store,
});
// One address may guess 50 times a day, over all accounts.
const addresses = createLimiter({ policy: slidingWindowCounter({ name: 'address', limit: 50, window: '1d' }), store });

const byAccount = byUser(({ body }: Request) => String(body?.name ?? '').toLowerCase());
const countOnly = ({ status }: { status: number }) => status === 401; // only wrong passwords count

const app = express();
app.use(express.json());
app.post(
  '/login',
  rateLimit({ limiter: addresses, countOnly, headers: 'none' }),
  rateLimit({ limiter: accounts, key: byAccount, countOnly, headers: 'none' }),
  (request, response) => {
    if (request.body.password === 'correct horse') response.send('welcome');
    else response.status(401).send('wrong name or password');
  },
);

// After a password reset the account starts afresh.
export const onPasswordReset = (name: string) => accounts.reset(`user:${name.toLowerCase()}`);

const server = app.listen(0);
const { port } = server.address() as { port: number };
const login = async (password: string) => {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'Ada', password });
  return (await fetch(`http://localhost:${port}/login`, { method: 'POST', headers, body })).status;
};

for (let time = 0; time < 8; time++) await login('correct horse');
for (const password of ['a', 'b', 'c', 'd', 'e', 'f']) console.log(password, await login(password));
console.log('the right one, while locked', await login('correct horse'));
await onPasswordReset('ada');
console.log('after a reset', await login('correct horse'));
server.close();
