/** What the numbers were measured on. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const resolver = createRequire(import.meta.url);
const OWN_PACKAGE = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export function describeMachine() {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    loadAverage: Number(loadavg()[0].toFixed(1)),
  };
}

/** Of the tree that is measured; `+` where it has changes that are not committed. */
export function commitOf() {
  const git = (...args) =>
    execFileSync('git', args, { cwd: fileURLToPath(new URL('.', import.meta.url)), encoding: 'utf8' });
  try {
    const isChanged = git('status', '--porcelain', '--', '../../packages').trim() !== '';
    return `${git('rev-parse', '--short', 'HEAD').trim()}${isChanged ? '+' : ''}`;
  } catch {
    return 'unknown';
  }
}

export function packageVersions() {
  const names = ['sluice', 'ioredis', 'redis', ...Object.keys(OWN_PACKAGE.devDependencies)];
  return Object.fromEntries(names.map((name) => [name, versionOf(name)]));
}

/** Some packages do not export their package.json, so it is looked for above where the package resolves to. */
function versionOf(name) {
  for (const folder of resolver.resolve.paths(name)) {
    try {
      return JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')).version;
    } catch {
      // Not in this folder: the next one up.
    }
  }
  return `not found from ${dirname(import.meta.url)}`;
}
