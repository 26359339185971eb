/**
 * Reads the config again when it changes. It looks at the text twice a second instead of waiting to be told, because that also sees a
 * file that is replaced, a symbolic link that is turned (as Kubernetes does), and disks of other machines, and misses nothing that
 * happens while the service starts. A bad config changes nothing.
 */
import type { MaybePromise } from 'sluice/store';
import type { Config } from '../config/config.ts';
import type { Environment } from '../config/read-jwt.ts';
import { problemText } from '../files/problem.ts';
import { configOf, type FoundFiles, findFiles } from './load-config.ts';

export interface Watching {
  /** Files and folders. */
  readonly paths: readonly string[];
  /** What the config that holds was made of. */
  readonly found: FoundFiles;
  readonly environment: Environment;
  readonly intervalMs?: number | undefined;
  /** Default: what is on the disk. */
  readonly find?: typeof findFiles | undefined;
  /** Returns whether it holds now. If not, it is tried again with the next look. */
  onChange(config: Config, found: FoundFiles): MaybePromise<boolean>;
  /** Told once for each change, in lines with file, line and path. */
  onProblems(lines: readonly string[]): void;
}

export interface Watch {
  /** Looks now. */
  reload(): Promise<void>;
  stop(): void;
}

const INTERVAL_MS = 500;

export function watchConfig(watching: Watching): Watch {
  const { paths, environment, intervalMs = INTERVAL_MS, find = findFiles, onChange, onProblems } = watching;
  let last = fingerprint(watching.found);
  const reload = async (): Promise<void> => {
    const found = await findSettled();
    if (found === undefined || fingerprint(found) === last) return;
    const before = last;
    last = fingerprint(found);
    const { config, problems } = configOf(found, environment);
    if (config === undefined) onProblems(problems.map(problemText));
    else if (!(await onChange(config, found))) last = before;
  };
  const timer = setInterval(() => void reload(), intervalMs).unref();
  return { reload, stop: () => clearInterval(timer) };

  /** Files that change while they are read, one half written, one of two turned, are left to the next look. */
  async function findSettled(): Promise<FoundFiles | undefined> {
    const found = await find(paths);
    if (fingerprint(found) === last) return found;
    const again = await find(paths);
    return fingerprint(again) === fingerprint(found) ? found : undefined;
  }
}

function fingerprint({ texts, problems }: FoundFiles): string {
  return JSON.stringify([texts, problems]);
}
