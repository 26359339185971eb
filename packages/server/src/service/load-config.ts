/** The config from files and folders: reads them, and puts into one config what they hold. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { type ConfigText, type ReadConfigs, readConfigs } from '../config/read-config.ts';
import type { Environment } from '../config/read-jwt.ts';
import { type FileProblem, problemText } from '../files/problem.ts';

/** What is on the disk. */
export interface FoundFiles {
  readonly texts: readonly ConfigText[];
  /** Files that cannot be read, folders without files. */
  readonly problems: readonly FileProblem[];
}

/** A folder stands for the *.yaml and *.yml in it, in the order of their names. Hidden ones are the machinery of Kubernetes and editors. */
export async function findFiles(paths: readonly string[]): Promise<FoundFiles> {
  const found = await Promise.all(paths.map(filesAt));
  return { texts: found.flatMap(({ texts }) => texts), problems: found.flatMap(({ problems }) => problems) };
}

async function filesAt(path: string): Promise<FoundFiles> {
  try {
    if (!(await stat(path)).isDirectory()) return await fileAt(path);
    const names = (await readdir(path)).filter((name) => /^[^.].*\.ya?ml$/.test(name)).sort();
    if (names.length > 0) return findFiles(names.map((name) => join(path, name)));
    return { texts: [], problems: [{ file: path, path: '', message: 'expected *.yaml or *.yml in it, got none' }] };
  } catch (error) {
    return unreadable(path, error);
  }
}

async function fileAt(file: string): Promise<FoundFiles> {
  try {
    return { texts: [{ file, text: await readFile(file, 'utf8') }], problems: [] };
  } catch (error) {
    return unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): FoundFiles {
  return { texts: [], problems: [{ file, path: '', message: `cannot be read: ${(error as Error).message}` }] };
}

export function configOf({ texts, problems }: FoundFiles, environment: Environment): ReadConfigs {
  if (texts.length === 0) return { config: undefined, problems, files: [] };
  const read = readConfigs(texts, environment);
  const all = [...read.problems, ...problems];
  return { ...read, config: all.length > 0 ? undefined : read.config, problems: all };
}

/** A config, and the files it was read from. */
export interface LoadedConfig {
  readonly config: Config;
  readonly found: FoundFiles;
}

/** For those who cannot go on without: an error holds every problem, each in a line. */
export async function loadConfig(paths: readonly string[], environment: Environment): Promise<LoadedConfig> {
  const found = await findFiles(paths);
  const { config, problems } = configOf(found, environment);
  if (config !== undefined) return { config, found };
  const lines = problems.map(problemText);
  throw new Error(`the config has ${lines.length} problem${lines.length === 1 ? '' : 's'}\n${lines.join('\n')}`);
}
