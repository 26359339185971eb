/**
 * Runs an example: `node examples/run.mjs express`. The examples are TypeScript, which Bun, Deno and Node from 22.18 on read as it is
 * (Nest's decorators aside): there, `node examples/express/server.ts` does the same. `npm run build` comes first.
 */
import { existsSync, readdirSync } from 'node:fs';
import { register } from 'node:module';

const folder = new URL('./', import.meta.url);
/** Servers run on; demos end by themselves. */
const fileOf = (name) => ['server.ts', 'demo.ts'].find((file) => existsSync(new URL(`${name}/${file}`, folder)));
const names = readdirSync(folder).filter((name) => fileOf(name) !== undefined);
/** A recipe is one file: `node examples/run.mjs recipes/login`. */
const recipes = readdirSync(new URL('recipes/', folder)).map((file) => `recipes/${file.replace('.ts', '')}`);
const [name] = process.argv.slice(2);

if (![...names, ...recipes].includes(name)) {
  console.error(`Usage: node examples/run.mjs <${[...names, ...recipes].join(' | ')}>`);
  process.exit(2);
}
register('./typescript-loader.mjs', import.meta.url);
await import(new URL(recipes.includes(name) ? `${name}.ts` : `${name}/${fileOf(name)}`, folder).href);
