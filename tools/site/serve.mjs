/** What `npm run docs:serve` runs: the site that `npm run docs` made last, on this machine. `--port 0` takes any port. */

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { port: { type: 'string', default: '4173' } } });
const made = new URL('.stage/site.json', import.meta.url);
if (!existsSync(made)) {
  console.error('There is no site yet: npm run docs');
  process.exit(1);
}
const { base } = JSON.parse(readFileSync(made, 'utf8'));
const { serve } = await import('vitepress');
// It says itself where it listens, but not which port it was given.
const say = console.info;
console.info = console.log = () => {};
const { server } = await serve({ root: fileURLToPath(new URL('.', import.meta.url)), port: Number(values.port) });
if (!server.listening) await once(server, 'listening');
say(`The documentation: http://localhost:${server.address().port}${base}`);
