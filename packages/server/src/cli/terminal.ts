/** What a command may do to the outside: say something, complain, read the environment, draw. Tests hand in their own. */
import type { Readable } from 'node:stream';
import { wantsColors } from './paint.ts';

export interface Terminal {
  out(text: string): void;
  error(text: string): void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where somebody looks. Undefined when the output goes into a file or a pipe. */
  readonly screen?: Screen | undefined;
  /** Where a line that is written over and over can stand, beside the output. Undefined when nobody looks. */
  readonly status?: Pick<Screen, 'write'> | undefined;
  /** Standard input, for commands that read it. */
  readonly input?: Readable | undefined;
  /** Asks whoever looks, and resolves to what was typed. Undefined when nobody can answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Whether what is said may have colours. Default: it has none. */
  readonly colors?: { readonly out: boolean; readonly error: boolean } | undefined;
}

export interface Screen {
  readonly columns: number;
  readonly rows: number;
  /** As it is, with no line end added. */
  write(text: string): void;
  /** Returns how to stop listening. */
  onResize(listener: () => void): () => void;
}

/** Whoever reads may have had enough, as `head` has: that is no error. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

/** A log that nobody reads any more is no reason to stop serving. */
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(`${text}\n`),
  error: (text) => void process.stderr.write(`${text}\n`),
  environment: process.env,
  get screen() {
    return process.stdout.isTTY ? processScreen : undefined;
  },
  get status() {
    return process.stderr.isTTY ? { write: (text: string) => void process.stderr.write(text) } : undefined;
  },
  get input() {
    return process.stdin;
  },
  get ask() {
    return process.stdin.isTTY && process.stdout.isTTY ? askPerson : undefined;
  },
  get colors() {
    return {
      out: wantsColors(process.env, process.stdout.isTTY === true),
      error: wantsColors(process.env, process.stderr.isTTY === true),
    };
  },
};

async function askPerson(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await reader.question(question);
  } finally {
    reader.close();
  }
}

const processScreen: Screen = {
  get columns() {
    return process.stdout.columns || 80;
  },
  get rows() {
    return process.stdout.rows || 24;
  },
  write: (text) => void process.stdout.write(text),
  onResize(listener) {
    process.stdout.on('resize', listener);
    return () => void process.stdout.off('resize', listener);
  },
};

/** What the command line says is wrong. It ends with exit code 2 and never with a stack. */
export class UsageError extends Error {}

/** It was asked for rightly, and is over already: exit code 1. */
export class OverError extends Error {}

/** Yes or done; no, or problems were found; wrong usage; it failed. */
export const EXIT = { ok: 0, no: 1, usage: 2, failed: 3 } as const;

/** For a process that cannot go on. */
export function endProcess(code: number): void {
  process.exit(code);
}
