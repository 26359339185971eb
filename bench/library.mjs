/**
 * The library that is measured: the one of this tree, or the build of another commit, whose folder stands in the environment of a
 * worker. Everything that makes Sluice's contenders takes it from here.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const LIBRARY_VARIABLE = 'SLUICE_BENCH_LIBRARY';
const folder = process.env[LIBRARY_VARIABLE];

/** `sluice('')`, `sluice('/ioredis')`: what people import. */
export function sluice(subpath = '') {
  if (folder === undefined) return import(`sluice${subpath}`);
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = exports[`.${subpath}`].default;
  return import(pathToFileURL(join(folder, file)));
}
