/**
 * @upstash/ratelimit speaks to Upstash over HTTP; this gives it the two methods that it uses, over a local connection. Its scripts begin
 * with a flag that only Upstash's servers know, so they are sent without that line, and called by the digest of what was sent.
 */
import { createHash } from 'node:crypto';
import { Ratelimit } from '@upstash/ratelimit';
import { CLIENTS } from './clients.mjs';
import { DAY_SECONDS } from './policies.mjs';

const digest = (script) => createHash('sha1').update(script).digest('hex');

function upstashRedisOver(client, connection) {
  const { command } = CLIENTS[client];
  const sentAs = new Map();
  const run = (verb, script, keys, args) =>
    command(connection, verb, script, String(keys.length), ...keys, ...args.map(String));
  return {
    evalsha(sha, keys, args) {
      return run('EVALSHA', sentAs.get(sha) ?? sha, keys, args);
    },
    eval(script, keys, args) {
      const plain = script.replace(/^#!lua flags=allow-key-locking\n/, '');
      sentAs.set(digest(script), digest(plain));
      return run('EVAL', plain, keys, args);
    },
  };
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
