import { createLimiter, fixedWindow, memoryStore } from 'sluice';

// The job is scheduled on every server; one of them runs it, once an hour.
const limiter = createLimiter({
  policy: fixedWindow({ name: 'cron', limit: 1, window: '1h' }), // windows of the clock: 10:00 to 11:00
  store: memoryStore(), // redisStore(client, { fallback: 'deny' }): nobody runs it when nobody knows
});

async function hourly(server: string): Promise<void> {
  const { allowed, source } = await limiter.attempt('job:invoices');
  // An answer from a fallback is this server's own opinion: for a job that must not run twice, it is a no.
  if (!allowed || source === 'fallback') return console.log(`${server}: another server has it`);
  console.log(`${server}: sends the invoices`);
}

for (const server of ['one', 'two', 'three']) await hourly(server);
