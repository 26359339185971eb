/** What a command may do to the outside: say something, complain, and read the environment. Tests hand in their own. */
export interface Terminal {
  out(text: string): void;
  error(text: string): void;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const processTerminal: Terminal = {
  out: (text) => void process.stdout.write(`${text}\n`),
  error: (text) => void process.stderr.write(`${text}\n`),
  environment: process.env,
};

/** What the command line says is wrong. It ends with exit code 2 and never with a stack. */
export class UsageError extends Error {}

export const EXIT = { ok: 0, no: 1, usage: 2, failed: 3 } as const;
