/** `npm run faults`: real processes, a real Redis, real faults, and what the processes were told meanwhile. */
import { writeFileSync } from 'node:fs';
import { HELP, readOptions } from './options.mjs';
import { brokenPromises, frameworkTable, terminalTable, writeDocs } from './report.mjs';
import { runFaults } from './run.mjs';

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) console.log(HELP);
  else await main(options);
} catch (error) {
  console.error(`\n${error.stack ?? error}`);
  // Client processes and servers may still be there; they end with this one.
  process.exit(1);
}

async function main({ faults, frameworks, json, writeDocs: toDocs }) {
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  const run = await runFaults({ faults, frameworks }, (text) =>
    console.error(`${seconds().toFixed(0).padStart(5)} s  ${text}`),
  );
  const report = { ...run, seconds: seconds() };
  const broken = brokenPromises(report);
  if (faults.length > 0) console.log(terminalTable(report.results));
  if (frameworks.length > 0) console.log(frameworkTable(report.byFramework));
  console.log(broken.length === 0 ? '\nEvery promise was kept.' : `\nBroken:\n${broken.join('\n')}`);
  if (json !== undefined) writeFileSync(json, JSON.stringify(report, null, 2));
  if (toDocs) writeDocs(report);
  process.exit(broken.length === 0 ? 0 : 1);
}
