/** `npm run bench`: Sluice and what people use today, side by side on one machine. */
import { allGroups } from './groups.mjs';
import { helpText, readOptions } from './options.mjs';
import { runBench } from './run.mjs';

try {
  const groups = await allGroups();
  const options = readOptions(process.argv.slice(2), groups);
  if (options.help) console.log(helpText(groups));
  else await runBench(options);
} catch (error) {
  console.error(`\n${error.isUsage ? error.message : (error.stack ?? error)}`);
  // Connections and workers of what failed may still be open; servers end with this process.
  process.exit(1);
}
