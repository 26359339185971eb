/** SvelteKit: every request of a client counts; logins have a limit of their own. */
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/sveltekit';

const login = rateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) });
const others = rateLimit({
  policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }),
  skip: ({ native }) => native.route.id === '/health',
});

export const handle: typeof others = (input) => (input.event.route.id === '/login' ? login(input) : others(input));
