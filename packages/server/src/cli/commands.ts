/** Every command of the binary: the overview, the help, the completions and the binary itself have them from here. */
import type { Command } from './command.ts';

type LoadCommand = () => Promise<Command>;

const verb =
  (name: string): LoadCommand =>
  async () => {
    const { VERB_COMMANDS } = await import('./verbs.ts');
    return VERB_COMMANDS.find((command) => command.name === name)!;
  };

const permit =
  (name: string): LoadCommand =>
  async () => {
    const { PERMIT_COMMANDS } = await import('./permits.ts');
    return PERMIT_COMMANDS.find((command) => command.name === name)!;
  };

const hold =
  (name: string): LoadCommand =>
  async () => {
    const { HOLD_COMMANDS } = await import('./holds.ts');
    return HOLD_COMMANDS.find((command) => command.name === name)!;
  };

/** Each is loaded when it is wanted: an attempt in a shell script need not wait for all that a server is made of. */
export const COMMANDS: ReadonlyMap<string, LoadCommand> = new Map(
  Object.entries({
    serve: async () => (await import('./serve.ts')).serveCommand,
    backtest: async () => (await import('./backtest.ts')).backtestCommand,
    suggest: async () => (await import('./suggest.ts')).suggestCommand,
    check: async () => (await import('./check.ts')).checkCommand,
    explain: async () => (await import('./explain.ts')).explainCommand,
    schema: async () => (await import('./schema.ts')).schemaCommand,
    attempt: verb('attempt'),
    peek: verb('peek'),
    refund: verb('refund'),
    penalize: verb('penalize'),
    reset: verb('reset'),
    block: verb('block'),
    unblock: verb('unblock'),
    history: verb('history'),
    reserve: hold('reserve'),
    settle: hold('settle'),
    exceptions: async () => (await import('./exceptions.ts')).exceptionsCommand,
    enter: permit('enter'),
    release: permit('release'),
    extend: permit('extend'),
    inspect: async () => (await import('./inspect.ts')).inspectCommand,
    errors: async () => (await import('./errors.ts')).errorsCommand,
    top: async () => (await import('./top.ts')).topCommand,
    init: async () => (await import('./init.ts')).initCommand,
    completions: async () => (await import('./completions.ts')).completionsCommand,
  }),
);
