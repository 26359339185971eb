/** Where the budgets are kept: in Redis for all proxies together, or in this one. */
import { memoryStore, type Store } from 'sluice';

export async function sharedStore(url: string | undefined): Promise<Store> {
  if (url === undefined) return memoryStore();
  const [{ Redis }, { redisStore }] = await Promise.all([import('ioredis'), import('sluice/ioredis')]);
  const client = new Redis(url);
  client.on('error', (error) => console.error('redis:', error.message));
  return redisStore(client);
}
