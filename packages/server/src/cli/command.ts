/** A command of the binary: its name, its help, and how it runs. */
import { readFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { parseArgs } from 'node:util';
import { didYouMean } from './did-you-mean.ts';
import { type Terminal, UsageError } from './terminal.ts';

export interface Command {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  readonly help: string;
  readonly flags: Flags;
  /** What stands beside the flags, for shells that complete it: one of these, or files. Default: nothing that is known. */
  readonly words?: readonly string[] | 'files' | undefined;
  /** Resolves to the exit code. */
  run(flags: Arguments, terminal: Terminal): Promise<number>;
}

export interface Flag {
  readonly type: 'string' | 'boolean';
  /** May be repeated. In a variable several stand as in PATH. */
  readonly multiple?: boolean;
  /** The variable of the environment that speaks where the flag is not given. */
  readonly variable?: string;
  /** What it can be, where that is a few words. */
  readonly values?: readonly string[];
  /** A file or a folder. */
  readonly isFile?: boolean;
}

export type Flags = Readonly<Record<string, Flag>>;

export interface Arguments {
  readonly words: readonly string[];
  text(flag: string): string | undefined;
  texts(flag: string): readonly string[];
  has(flag: string): boolean;
  /** On the command line itself, not by a variable. */
  isGiven(flag: string): boolean;
}

/** An unknown flag is an error that names it. */
export function parseArguments(args: readonly string[], flags: Flags, { environment }: Terminal): Arguments {
  const { values, positionals } = parse(args, flags);
  const fromVariable = (flag: string): string | undefined => {
    const { variable } = flags[flag] ?? {};
    return variable === undefined ? undefined : environment[variable] || undefined;
  };
  return {
    words: positionals,
    isGiven: (flag) => values[flag] !== undefined,
    text: (flag) => (values[flag] as string | undefined) ?? fromVariable(flag),
    texts: (flag) =>
      (values[flag] as string[] | undefined) ?? fromVariable(flag)?.split(delimiter).filter(Boolean) ?? [],
    has: (flag) => (values[flag] as boolean | undefined) ?? isOn(flags[flag]?.variable, fromVariable(flag)),
  };
}

function isOn(variable: string | undefined, value: string | undefined): boolean {
  if (value === undefined || value === '0' || value === 'false') return false;
  if (value === '1' || value === 'true') return true;
  throw new UsageError(`${variable}: expected 1, true, 0 or false, got ${JSON.stringify(value)}`);
}

function parse(args: readonly string[], flags: Flags) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  );
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const [, unknown] = /^Unknown option '--([^']*)'/.exec((error as Error).message) ?? [];
    if (unknown === undefined) throw new UsageError((error as Error).message);
    throw new UsageError(`Unknown option '--${unknown}'.${didYouMean(unknown, Object.keys(flags), '--')}`);
  }
}

/** What is in the file that a flag names. */
export async function fileOf(flags: Arguments, flag: string): Promise<string | undefined> {
  const file = flags.text(flag);
  if (file === undefined) return undefined;
  return readFile(file, 'utf8').catch((error: Error) => {
    throw new UsageError(`--${flag}: cannot be read: ${error.message}`);
  });
}

/** For flags that take one of a few words. */
export function oneOf<Word extends string>(
  flag: string,
  value: string | undefined,
  words: readonly Word[],
): Word | undefined {
  if (value === undefined || words.includes(value as Word)) return value as Word | undefined;
  throw new UsageError(`--${flag}: expected ${words.join(' or ')}, got ${JSON.stringify(value)}`);
}

export function wholeNumber(flag: string, text: string, [least, most]: readonly [number, number]): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${flag}: expected a number from ${least} to ${most}, got ${JSON.stringify(text)}`);
}
