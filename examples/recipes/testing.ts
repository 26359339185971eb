import assert from 'node:assert';
import { createLimiter, fixedWindow, type Limiter, manualClock, memoryStore } from 'sluice';

/** Your code takes the limiter, so that a test can give it one on a clock that stands still. */
async function sendInvitation(limiter: Limiter, user: string): Promise<string> {
  const { allowed, retryAfter } = await limiter.attempt(`user:${user}`);
  return allowed ? 'sent' : `wait ${Math.ceil(retryAfter! / 60)} minutes`;
}

const MINUTE = 60_000;
const policy = fixedWindow({ name: 'invitations', limit: 2, window: '1h' });
const clock = manualClock(0);
const limiter = createLimiter({ policy, store: memoryStore({ clock }) });

assert.equal(await sendInvitation(limiter, 'ada'), 'sent');
assert.equal(await sendInvitation(limiter, 'ada'), 'sent');
clock.advance(15 * MINUTE);
assert.equal(await sendInvitation(limiter, 'ada'), 'wait 45 minutes');
clock.advance(45 * MINUTE);
assert.equal(await sendInvitation(limiter, 'ada'), 'sent');
console.log('an hour has passed, and the test took no time');
