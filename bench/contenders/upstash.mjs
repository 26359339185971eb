/** @upstash/ratelimit speaks to Upstash over HTTP; this gives it the two methods that it uses, over a local connection. */
import { Ratelimit } from '@upstash/ratelimit';
import { CLIENTS } from './clients.mjs';
import { DAY_SECONDS } from './policies.mjs';

function upstashRedisOver(client, connection) {
  const { command } = CLIENTS[client];
  const words = (verb) => (script, keys, args) =>
    command(connection, verb, script, keys.length, ...keys, ...args.map(String));
  return { evalsha: words('EVALSHA'), eval: words('EVAL') };
}

export const upstashContender = {
  name: '@upstash/ratelimit fixed window',
  kind: 'peer',
  open({ client, connection, limit }) {
    const limiter = new Ratelimit({
      redis: upstashRedisOver(client, connection),
      limiter: Ratelimit.fixedWindow(limit, `${DAY_SECONDS} s`),
    });
    return (key) => limiter.limit(key);
  },
};
