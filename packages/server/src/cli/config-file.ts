/** A config from a file, for commands: its problems are lines for the terminal. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { problemText } from '../config/problem.ts';
import { readConfig } from '../config/read-config.ts';

export interface ConfigFile {
  readonly config: Config;
  readonly text: string;
}

export interface FileReport extends Partial<ConfigFile> {
  readonly lines: readonly string[];
}

export async function readConfigFile(file: string): Promise<FileReport> {
  const text = await readFile(file, 'utf8').catch((error: Error) => error);
  if (text instanceof Error) return { lines: [`${file}: cannot be read: ${text.message}`] };
  const { config, problems } = readConfig(text);
  return {
    text,
    ...(config === undefined ? {} : { config }),
    lines: problems.map((problem) => problemText(file, problem)),
  };
}

/** For commands that cannot go on without. */
export async function requireConfig(file: string): Promise<ConfigFile> {
  const { config, text, lines } = await readConfigFile(file);
  if (config !== undefined && text !== undefined) return { config, text };
  throw new Error(`the config has ${lines.length} problem${lines.length === 1 ? '' : 's'}\n${lines.join('\n')}`);
}
