/**
 * A login form. Only failures count: whoever knows the password is never slowed down. Three wrong ones for an account lock it for an
 * hour, whoever tries; and one address has thirty wrong ones a day over all accounts.
 */
import express, { type Request } from 'express';
import { createLimiter, fixedWindow, slidingWindowCounter } from 'sluice';
import { rateLimit } from 'sluice/express';
import { byUser } from 'sluice/http';

const PASSWORDS = new Map([
  ['ada', 'analytical'],
  ['grace', 'compiler'],
]);

const accounts = createLimiter({ policy: fixedWindow({ name: 'account', limit: 3, window: '15m', align: 'first' }) });
const byAccount = byUser((request: Request) => request.body.name.toLowerCase());
const isFailure = ({ status }: { status: number }) => status === 401;

const app = express();
app.use(express.urlencoded());

app.get('/', (_request, response) => {
  response.send(
    '<form method="post" action="/login"><input name="name"><input name="password" type="password"><button>Log in</button></form>',
  );
});

app.post(
  '/login',
  (request, response, next) => {
    if (typeof request.body?.name === 'string' && request.body.name !== '') next();
    else response.status(400).send('Who is it?');
  },
  rateLimit({ policy: slidingWindowCounter({ name: 'address', limit: 30, window: '1d' }), countOnly: isFailure }),
  rateLimit({ limiter: accounts, key: byAccount, countOnly: isFailure, headers: 'none' }),
  async (request, response) => {
    const { name, password } = request.body;
    if (PASSWORDS.get(name) === password) {
      response.send(`Welcome, ${name}`);
      return;
    }
    // That was the last try: from now on the account is locked, and trying again does not make it longer.
    if (request.rateLimit?.remaining === 0) await accounts.block(`user:${name.toLowerCase()}`, '1h');
    response.status(401).send('Wrong name or password');
  },
);

/** For the people at the desk; in a real app, behind a login of their own. */
app.delete('/locks/:name', async (request, response) => {
  await accounts.reset(`user:${request.params.name.toLowerCase()}`); // ends the lock too
  response.status(204).end();
});

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
