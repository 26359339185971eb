/**
 * A proxy before a language model. Each API key has a budget of tokens and of money; all of them together stay under what the provider allows. Nobody
 * knows beforehand how long an answer will be: what such answers were is reserved, and what it really was is settled, also when the answer is a
 * stream that breaks off. With REDIS_URL the budgets hold for any number of proxies.
 */
import express from 'express';
import { createLimiter, fixedWindow, tokenBucket } from 'sluice';
import { estimates, lowerTo, providerRemaining, settleWhen } from 'sluice/llm';
import { askModel, countTokens } from './model.ts';
import { sharedStore } from './store.ts';

/** Millionths of a dollar for a token. */
const PRICE = 3;
const costOf = (tokens: number) => ({ tokens, money: tokens * PRICE });

const store = await sharedStore(process.env.REDIS_URL);
const budgets = createLimiter({
  store,
  policies: [
    tokenBucket({ name: 'tokens', capacity: 1000, refillRate: '100/h' }),
    fixedWindow({ name: 'money', limit: 1_000_000, window: '1d', align: 'first' }),
  ],
});
const provider = createLimiter({
  store,
  policies: [
    tokenBucket({ name: 'provider-requests', capacity: 100, refillRate: '100/min' }),
    tokenBucket({ name: 'provider-tokens', capacity: 20_000, refillRate: '20000/min' }),
  ],
});
const answers = estimates({ first: 20 });

const app = express();
app.use(express.json());

app.post('/v1/chat', async (request, response) => {
  const { prompt, maxTokens, stream } = request.body ?? {};
  const key = request.get('x-api-key');
  if (!key) return void response.status(401).json({ error: 'the header x-api-key is missing' });
  if (typeof prompt !== 'string' || !Number.isSafeInteger(maxTokens) || maxTokens < 1) {
    return void response.status(400).json({ error: 'prompt and maxTokens, please' });
  }
  // What such answers were, and never more than this one may be.
  const known = countTokens(prompt);
  const estimate = answers.of('parrot', known);
  const expected = Math.min(estimate.value, known + maxTokens);
  const hold = await budgets.reserve(key, {
    // What the hold is committed with is learned.
    cost: { ...costOf(expected), tokens: { ...estimate, value: expected } },
    maxDebt: { tokens: 1000, money: 0 },
    ttl: '10m',
  });
  if (!hold.allowed) {
    const { retryAfter, policy } = hold.result;
    if (Number.isFinite(retryAfter)) response.set('Retry-After', String(Math.ceil(retryAfter!)));
    return void response.status(429).json({ error: `too much for the budget of ${policy}` });
  }
  try {
    await provider.acquire('model', { cost: { 'provider-requests': 1, 'provider-tokens': expected }, timeout: '5s' });
    const answer = await askModel(prompt, maxTokens);
    // The provider is believed where it says that less is left than we count. If it says nothing, nothing changes.
    const { requests, tokens } = providerRemaining(answer.headers);
    await lowerTo(provider, 'model', { 'provider-requests': requests, 'provider-tokens': tokens });
    if (stream === true) {
      response.type('text/event-stream');
      for await (const event of settleWhen(hold, answer.events(), { cost: costOf })) {
        if (response.destroyed) break; // The client has gone: the model may stop.
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      }
      return void response.end();
    }
    const { decisions } = await hold.commit(costOf(answer.used));
    response.json({ text: answer.text, used: answer.used, left: decisions[0]!.remaining });
  } catch {
    await hold.cancel().catch(() => {});
    response.status(502).json({ error: 'the model is not well' });
  }
});

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
