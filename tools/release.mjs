/**
 * What makes a release: the version at the head of CHANGELOG.md goes into every package and gets a date, both packages are packed, and the commands that
 * publish them are printed. `--dry-run` changes nothing. It never publishes: that is for a person, with a second factor.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { workspaceFolder } from './steps.mjs';

const HELP = `Usage: node tools/release.mjs [--dry-run] [--notes]

  --dry-run    says what would be done and what is in the way, and changes nothing
  --notes      prints the notes of the version at the head of CHANGELOG.md, for the page of the release
`;

export const PACKAGES = ['packages/sluice', 'packages/server', 'packages/lab'];
const PUBLISHED = ['packages/sluice', 'packages/server'];
/** What a registry shows of a package, and only the maintainers know. */
const WANTED = ['repository', 'homepage', 'bugs'];

/** The sections of a changelog, newest first: version, date ('unreleased' before it has one) and notes. */
export function versionsOf(changelog) {
  const parts = changelog.split(/^## (?=\d)/m).slice(1);
  return parts.map((part) => {
    const [head, ...notes] = part.split('\n');
    const [, version, date] = /^(\d+\.\d+\.\d+(?:-[\w.]+)?), (unreleased|\d{4}-\d{2}-\d{2})$/.exec(head.trim()) ?? [];
    if (version === undefined)
      throw new Error(`CHANGELOG.md: expected "## VERSION, DATE" or "## VERSION, unreleased", got "## ${head}".`);
    return { version, date, notes: notes.join('\n').trim() };
  });
}

/** The changelog with the date of the release in its head. */
export function dated(changelog, version, date) {
  return changelog.replace(`## ${version}, unreleased`, `## ${version}, ${date}`);
}

/** A manifest with its version, and that of the packages of this workspace it needs. */
export function withVersion(manifest, version) {
  const own = (dependencies) =>
    dependencies === undefined
      ? undefined
      : Object.fromEntries(
          Object.entries(dependencies).map(([name, is]) => [name, /^(@sluice\/|sluice$)/.test(name) ? version : is]),
        );
  const next = { ...manifest, version };
  for (const field of ['dependencies', 'devDependencies'])
    if (manifest[field] !== undefined) next[field] = own(manifest[field]);
  return next;
}

/** What is in the way of a release; some of it only a person can decide. */
export function obstacles({ latest, manifests, isClean }) {
  const found = [];
  if (latest.date !== 'unreleased')
    found.push(
      `The head of CHANGELOG.md is ${latest.version} of ${latest.date}: write "## VERSION, unreleased" above it.`,
    );
  if (latest.notes === '') found.push(`${latest.version} has no notes in CHANGELOG.md.`);
  if (!isClean) found.push('The working tree has changes that are not committed.');
  for (const { name, ...fields } of manifests) {
    const missing = WANTED.filter((field) => fields[field] === undefined);
    if (missing.length > 0)
      found.push(`${name}: package.json has no ${missing.join(', ')}. The maintainers decide where the project lives.`);
  }
  return found;
}

function main() {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      notes: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP.trimEnd());
  const file = (path) => join(workspaceFolder, path);
  const changelog = readFileSync(file('CHANGELOG.md'), 'utf8');
  const [latest] = versionsOf(changelog);
  if (values.notes) return console.log(latest.notes);
  const manifests = PUBLISHED.map((path) => JSON.parse(readFileSync(file(`${path}/package.json`), 'utf8')));
  const isClean = execFileSync('git', ['status', '--porcelain'], { cwd: workspaceFolder, encoding: 'utf8' }) === '';
  const inTheWay = obstacles({ latest, manifests, isClean });
  console.log(
    `Release ${latest.version}: ${latest.notes.split('\n').filter((line) => line.startsWith('- ')).length} entries in CHANGELOG.md`,
  );
  for (const obstacle of inTheWay) console.log(`  in the way: ${obstacle}`);
  const date = new Date().toISOString().slice(0, 10);
  console.log(`  sets the version ${latest.version} in ${PACKAGES.join(', ')}, and the date ${date} in CHANGELOG.md`);
  for (const path of PUBLISHED)
    console.log(`  then, by hand: npm test && npm publish --workspace=${path} --access public`);
  if (values['dry-run']) return console.log('Nothing was changed.');
  if (inTheWay.length > 0) {
    process.exitCode = 1;
    return console.log('Nothing was changed: see what is in the way.');
  }
  for (const path of PACKAGES) {
    const manifest = JSON.parse(readFileSync(file(`${path}/package.json`), 'utf8'));
    writeFileSync(file(`${path}/package.json`), `${JSON.stringify(withVersion(manifest, latest.version), null, 2)}\n`);
  }
  writeFileSync(file('CHANGELOG.md'), dated(changelog, latest.version, date));
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: workspaceFolder,
    stdio: 'inherit',
  });
  console.log(`Done. Look at it, commit it as "Release ${latest.version}", and tag it v${latest.version}.`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
