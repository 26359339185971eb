/** How many calls to its engine a store makes to allow an attempt and to deny one, one at a time. Prints them as JSON. Run by any runtime. */
import process from 'node:process';
import { callsOf } from './calls-of.mjs';
import { OPEN } from './open-store.mjs';

const [engine] = process.argv.slice(2);
const calls = [];
const { store, close } = await OPEN[engine](
  process.env,
  { silence: '120s', deadline: '120s', denyCache: false },
  calls,
);
console.log(JSON.stringify(await callsOf(store, calls)));
await close();
process.exit(0);
