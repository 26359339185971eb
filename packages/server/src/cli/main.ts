/** The binary: finds the command, and turns what goes wrong into a line and an exit code. */
import { checkCommand } from './check.ts';
import type { Command } from './command.ts';
import { explainCommand } from './explain.ts';
import { schemaCommand } from './schema.ts';
import { serveCommand } from './serve.ts';
import { EXIT, processTerminal, type Terminal, UsageError } from './terminal.ts';
import { VERB_COMMANDS } from './verbs.ts';

const COMMANDS: readonly Command[] = [serveCommand, checkCommand, explainCommand, schemaCommand, ...VERB_COMMANDS];

export async function main(args: readonly string[], terminal: Terminal = processTerminal): Promise<number> {
  const [name = '--help', ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') return showHelp(rest[0], terminal);
  const command = COMMANDS.find((known) => known.name === name);
  if (command === undefined) {
    terminal.error(`sluice: there is no command ${JSON.stringify(name)}.\n\n${overview()}`);
    return EXIT.usage;
  }
  if (rest.includes('--help') || rest.includes('-h')) return showHelp(name, terminal);
  return runCommand(command, rest, terminal);
}

async function runCommand(command: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await command.run(args, terminal);
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const hint = isUsage ? `\nsluice ${command.name} --help shows how.` : '';
    terminal.error(`sluice ${command.name}: ${(error as Error).message}${hint}`);
    return isUsage ? EXIT.usage : EXIT.failed;
  }
}

function showHelp(name: string | undefined, terminal: Terminal): number {
  const command = COMMANDS.find((known) => known.name === name);
  terminal.out(command === undefined ? overview() : `${command.summary}\n\n${command.help}`);
  return EXIT.ok;
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    'sluice: rate limits as a service, from a file.',
    '',
    ...lines,
    '',
    'sluice COMMAND --help has the flags of a command, and examples.',
    'Exit codes: 0 yes or done, 1 no, 2 wrong usage, 3 failed.',
  ].join('\n');
}
