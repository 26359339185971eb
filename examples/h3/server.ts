/** h3 2, on whichever runtime. In Nitro and Nuxt the middleware is the default export of a file in server/middleware. */
import { H3, serve } from 'h3';
import { fixedWindow, tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/h3';

const app = new H3();

const login = rateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) });
const others = rateLimit({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) });

app.use('/login', login);
app.use('/', others);

app.get('/health', () => 'ok');
app.post('/login', () => ({ welcome: true }));
app.get('/', (event) => ({ left: event.context.rateLimit?.remaining }));

const server = serve(app, { port: Number(process.env.PORT ?? 3000), silent: true });
await server.ready();
console.log(`listening on ${JSON.stringify({ port: Number(new URL(server.url!).port) })}`);
