/** Limits in a table of Postgres: every process that shares it shares the limit. DATABASE_URL says where. */
import { createServer } from 'node:http';
import pg from 'pg';
import { tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/node';
import { createTable, postgresStore } from 'sluice/postgres';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
pool.on('error', (error) => console.error('postgres:', error.message));
await createTable(pool);

const policy = tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' });
const home = rateLimit({ policy, store: postgresStore(pool) })((request, response) => {
  response.end(JSON.stringify({ left: request.rateLimit?.remaining }));
});

const server = createServer((request, response) => void home(request, response));
server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});
