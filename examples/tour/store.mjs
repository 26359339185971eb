/** Where the tour keeps its state: in memory, or in the Redis that REDIS_URL names. */

import { randomUUID } from 'node:crypto';
import { memoryStore } from 'sluice';
import { redisStore } from 'sluice/node-redis';

const PATIENCE_MS = 3_000;

/** Something the visitor can put right: shown as one line, without a stack trace. */
export class TourError extends Error {}

/** Hands the store to `use`, and leaves nothing open behind it. */
export async function withStore(url, clock, use) {
  return url ? withRedis(url, clock, use) : use({ store: memoryStore({ clock }), kind: 'memory', place: 'memory' });
}

async function withRedis(url, clock, use) {
  const place = `Redis at ${addressOf(url)}`;
  const client = await connect(url, place);
  try {
    // A prefix of its own for each run: two tours at once do not meet, and nothing of yours is touched.
    // It counts to the last request, so it rather waits for a busy Redis than be answered by anybody else.
    const patience = { silence: PATIENCE_MS, deadline: PATIENCE_MS };
    const store = redisStore(client, { prefix: `sluice-tour-${randomUUID()}`, clock, ...patience });
    return await use({ store, kind: 'redis', place });
  } catch (error) {
    throw new TourError(`${place} did not answer the whole tour: ${reasonOf(error)}`, { cause: error });
  } finally {
    client.destroy();
  }
}

async function connect(url, place) {
  const client = await clientFor(url);
  // Without a listener, node-redis lets an error end the process. What matters of it also rejects `connect` or a command.
  client.on('error', () => undefined);
  try {
    await inTime(client.connect());
    return client;
  } catch (error) {
    client.destroy();
    throw new TourError(`Cannot reach ${place} (from REDIS_URL): ${reasonOf(error)}`);
  }
}

async function clientFor(url) {
  // Loaded only when asked for, as an application without Redis would not install it.
  const { createClient } = await import('redis');
  const socket = { reconnectStrategy: false, connectTimeout: PATIENCE_MS, socketTimeout: PATIENCE_MS };
  try {
    return createClient({ url, socket });
  } catch (error) {
    throw new TourError(`REDIS_URL cannot be used: ${reasonOf(error)}`);
  }
}

/** A server can accept a connection and then say nothing: the client's own connect timeout does not see that. */
async function inTime(promise) {
  let timer;
  const tooLate = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS / 1000} s`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** Host and port alone: the rest of the URL may hold a password. */
function addressOf(url) {
  if (!URL.canParse(url)) throw new TourError('REDIS_URL is not a URL like redis://localhost:6379');
  const { host, pathname } = new URL(url);
  return host || pathname;
}

/** One line. For a name with several addresses Node gives an error that has only a code. */
function reasonOf(error) {
  return String(error.message || error.code || error.name).split('\n')[0];
}
