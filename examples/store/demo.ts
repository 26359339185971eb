/** Three processes, one service that loses a fifth of all messages, and a limit of ten: ten are allowed. */
import { createLimiter, tokenBucket } from 'sluice';
import { FarMap } from './far-map.ts';
import { mapStore } from './map-store.ts';

const map = new FarMap({ random: Math.random, loss: 0.2 });
const policy = tokenBucket({ capacity: 10, refillRate: '1/h' });
const processes = Array.from({ length: 3 }, () => createLimiter({ policy, store: mapStore(map, { tries: 1000 }) }));

const asked = Array.from({ length: 30 }, (_, index) => processes[index % 3]!.attempt('ada'));
const answers = await Promise.allSettled(asked);
const allowed = answers.filter((answer) => answer.status === 'fulfilled' && answer.value.allowed).length;
const unknown = answers.filter(({ status }) => status === 'rejected').length;
console.log(`${allowed} allowed, ${30 - allowed - unknown} denied, ${unknown} without an answer`);
const { remaining } = await processes[0]!.peek('ada');
console.log(`${remaining} remaining: nothing was minted, nothing was counted twice`);
