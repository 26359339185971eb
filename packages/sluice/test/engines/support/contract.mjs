/** The store contract on an engine of support/open-store.mjs, on any runtime. Prints how many cases were run. */
import process from 'node:process';
import { storeContract } from 'sluice/testing';
import { OPEN } from './open-store.mjs';

const [engine] = process.argv.slice(2);
let cases = 0;
let close = () => {};
const contract = storeContract(async ({ clock }) => {
  const opened = await OPEN[engine](process.env, { clock, raw: true, prefix: `contract ${cases}` });
  close = opened.close;
  return opened.store;
});
for (const { name, run } of contract) {
  cases += 1;
  await run().catch((error) => {
    throw new Error(`${engine}: ${name}: ${error.message}`, { cause: error });
  });
  await close();
}
console.log(JSON.stringify({ cases }));
process.exit(0);
