/**
 * A proxy before a language model, with a budget of tokens for each API key. Nobody knows beforehand how long an answer will be: the
 * most it may be is reserved before the model is asked, and what it really was is settled afterwards.
 */
import express from 'express';
import { tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/express';
import { byHeader } from 'sluice/http';
import { askModel, countTokens } from './model.ts';

const app = express();
app.use(express.json());

app.post(
  '/v1/chat',
  (request, response, next) => {
    const { prompt, maxTokens } = request.body ?? {};
    if (typeof prompt === 'string' && Number.isSafeInteger(maxTokens) && maxTokens > 0) next();
    else response.status(400).json({ error: 'prompt and maxTokens, please' });
  },
  rateLimit({
    policy: tokenBucket({ name: 'tokens', capacity: 1000, refillRate: '100/h' }),
    key: byHeader('x-api-key'),
    cost: ({ native: { body } }) => countTokens(body.prompt) + body.maxTokens,
    settle: ({ view, status }) => (status === 200 ? view.native.res?.locals.used : 0),
    settleWithin: '10m', // longer than any answer takes
  }),
  async (request, response) => {
    const answer = await askModel(request.body.prompt, request.body.maxTokens);
    response.locals.used = answer.used;
    response.json(answer);
  },
);

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
