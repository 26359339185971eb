/**
 * Collects what `sluice` needs to run, and nothing else: `node deploy/collect-runtime.mjs FOLDER`. npm would also install everything that the
 * library can be used with (its optional peers), which is ten times as much. It takes the versions that are installed, so those of the lock.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const workspace = fileURLToPath(new URL('..', import.meta.url));
const [target] = process.argv.slice(2);
if (target === undefined) {
  console.error('Usage: node deploy/collect-runtime.mjs FOLDER');
  process.exit(2);
}

/** As Node looks for it: from the folder of who asks upwards. */
function find(name, from) {
  const folder = join(from, 'node_modules', name);
  if (existsSync(join(folder, 'package.json'))) return folder;
  if (from === dirname(from)) throw new Error(`${name} is not installed: npm ci comes first`);
  return find(name, dirname(from));
}

const collected = new Set();

/** `folder` is below some node_modules, and goes to the same place below the target's. */
function collect(folder) {
  const place = relative(workspace, folder);
  if (collected.has(place)) return;
  collected.add(place);
  const real = realpathSync(folder);
  const { files, dependencies = {} } = JSON.parse(readFileSync(join(real, 'package.json'), 'utf8'));
  // Of members of the workspace, what would be published and is needed to run. Others are published already.
  const isMember = !real.split(sep).includes('node_modules');
  const isForPeople = (file) => /^!|^src$|^llms\.txt$/.test(file);
  for (const file of isMember ? ['package.json', ...files.filter((each) => !isForPeople(each))] : ['.']) {
    if (isMember && !existsSync(join(real, file)))
      throw new Error(`${join(real, file)} is missing: npm run build comes first`);
    copy(join(real, file), join(target, place, file));
  }
  for (const name of Object.keys(dependencies)) collect(find(name, isMember ? workspace : folder));
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  // What lies deeper is collected by whoever depends on it; types and maps are for people who write code.
  const isNeeded = (file) => !/[\\/]node_modules$|\.(d\.[cm]?ts|map)$/.test(relative(from, file));
  cpSync(from, to, { recursive: true, dereference: true, filter: isNeeded });
}

collect(join(workspace, 'node_modules', '@sluice', 'server'));
console.log(`${collected.size} packages in ${target}`);
