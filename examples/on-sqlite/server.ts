/** Limits in a SQLite file: every process that opens it shares the limit. SQLITE_FILE says where. Needs Node 22; in Bun, use `bun:sqlite`. */
import { createServer } from 'node:http';
import { tokenBucket } from 'sluice';
import { rateLimit } from 'sluice/node';
import { type SqliteDatabase, sqliteStore } from 'sluice/sqlite';

const file = process.env.SQLITE_FILE ?? 'limits.db';
const database = await open(file);
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');

const policy = tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' });
const home = rateLimit({ policy, store: sqliteStore(database) })((request, response) => {
  response.end(JSON.stringify({ left: request.rateLimit?.remaining }));
});

const server = createServer((request, response) => void home(request, response));
server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on ${JSON.stringify(server.address())}`);
});

/** Your program needs one of these lines. */
async function open(path: string): Promise<SqliteDatabase> {
  const name = 'Bun' in globalThis ? 'bun:sqlite' : 'node:sqlite';
  const { Database, DatabaseSync } = await import(name);
  return 'Bun' in globalThis ? new Database(path) : new DatabaseSync(path);
}
