/** A command of the binary: its name, its help, and how it runs. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Terminal, UsageError } from './terminal.ts';

export interface Command {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  readonly help: string;
  /** Resolves to the exit code. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

export type Flags = NonNullable<ParseArgsConfig['options']>;

export interface Arguments {
  readonly words: readonly string[];
  text(flag: string): string | undefined;
  texts(flag: string): readonly string[];
  has(flag: string): boolean;
}

/** An unknown flag is an error that names it. */
export function parseArguments(args: readonly string[], options: Flags): Arguments {
  const { values, positionals } = parse(args, options);
  return {
    words: positionals,
    text: (flag) => values[flag] as string | undefined,
    texts: (flag) => (values[flag] ?? []) as readonly string[],
    has: (flag) => values[flag] === true,
  };
}

function parse(args: readonly string[], options: Flags) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
