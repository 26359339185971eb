/**
 * Reads the config again when it changes. It looks at the text twice a second instead of waiting to be told, because that also sees a
 * file that is replaced, a symbolic link that is turned (as Kubernetes does), and disks of other machines, and misses nothing that
 * happens while the service starts. A bad config changes nothing.
 */
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { problemText } from '../config/problem.ts';
import { readConfig } from '../config/read-config.ts';
import { errorText } from './log.ts';

export interface Watching {
  readonly file: string;
  /** The text of the config that holds. */
  readonly text: string;
  readonly intervalMs?: number | undefined;
  onChange(config: Config): void;
  /** Told once for each change, in lines with file, line and path. */
  onProblems(lines: readonly string[]): void;
}

export interface Watch {
  /** Looks now. */
  reload(): Promise<void>;
  stop(): void;
}

const INTERVAL_MS = 500;

export function watchConfig({ file, text: first, intervalMs = INTERVAL_MS, onChange, onProblems }: Watching): Watch {
  /** What was last found: a text, or why there is none. */
  let last: string | undefined = first;
  const reload = async (): Promise<void> => {
    const found = await readText(file);
    if (found.text === last) return;
    last = found.text;
    const { config, lines } = found.text === undefined ? found : readLines(file, found.text);
    if (config === undefined) onProblems(lines);
    else onChange(config);
  };
  const timer = setInterval(() => void reload(), intervalMs).unref();
  return { reload, stop: () => clearInterval(timer) };
}

interface Found {
  readonly text?: string;
  readonly config?: Config | undefined;
  readonly lines: readonly string[];
}

async function readText(file: string): Promise<Found> {
  try {
    return { text: await readFile(file, 'utf8'), lines: [] };
  } catch (error) {
    return { lines: [`${file}: cannot be read: ${errorText(error)}`] };
  }
}

function readLines(file: string, text: string): Found {
  const { config, problems } = readConfig(text);
  return { config, lines: problems.map((problem) => problemText(file, problem)) };
}
