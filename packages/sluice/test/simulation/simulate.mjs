/** `npm run simulate`: loads the simulation, which is TypeScript, and runs it. */
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const { module } = await runnerImport(fileURLToPath(new URL('command.ts', import.meta.url)));
process.exitCode = (await module.runCommand(process.argv.slice(2))) ? 0 : 1;
