/** A small application: its limit, one attempt, and the end. */
import { Redis } from 'ioredis';
import { createLimiter, fixedWindow } from 'sluice';
import { redisStore } from 'sluice/ioredis';

const [url, prefix] = process.argv.slice(2);
const client = new Redis(url);
client.on('error', (error) => console.error(error));
const store = redisStore(client, prefix === '' ? {} : { prefix });
const limiter = createLimiter({ policy: fixedWindow({ name: 'api', limit: 100, window: '1d' }), store });
await limiter.attempt('user:42');
await client.quit();
