/** A budget of tokens for a language model: what an answer really cost is known only afterwards, and is owed. */
import { createLimiter, memoryStore } from 'sluice';
import { manualClock } from 'sluice/testing';
import { debtBucket } from './debt-bucket.ts';

const clock = manualClock(0);
const policy = debtBucket({ capacity: 1000, debt: 500, every: '60ms', name: 'tokens' });
const limiter = createLimiter({ policy, store: memoryStore({ clock }) });

const asked = await limiter.attempt('ada', { cost: 800 });
console.log(`asked for 800: allowed ${asked.allowed}, ${asked.remaining} remaining`);
const settled = await limiter.penalize('ada', { cost: 600 });
console.log(`it took 1400: ${settled.changed} more are spent, 200 that were there and 400 that are owed`);
const next = await limiter.attempt('ada', { cost: 1 });
console.log(`the next attempt: allowed ${next.allowed}, in ${next.retryAfter} s`);
clock.advance(next.retryAfter! * 1000);
console.log(`then: allowed ${(await limiter.attempt('ada', { cost: 1 })).allowed}`);
