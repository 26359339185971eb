/** `npm run bench`: Sluice and its peers side by side, in one process tree on one machine. */
import { HELP, readOptions } from './options.mjs';

try {
  const options = readOptions(process.argv.slice(2));
  if (options.help) {
    console.log(HELP);
  } else {
    // Only now, because it imports all the peers.
    const { runBench } = await import('./run.mjs');
    await runBench(options);
  }
} catch (error) {
  console.error(`\n${error.stack ?? error}`);
  // Connections and workers of the failed contender may still be open; servers end with this process.
  process.exit(1);
}
