/** The binary: finds the command, and turns what goes wrong into a line and an exit code. */
import { readFileSync } from 'node:fs';
import { type Command, parseArguments } from './command.ts';
import { COMMANDS } from './commands.ts';
import { didYouMean } from './did-you-mean.ts';
import { keepHeapSmall } from './heap.ts';
import { painter } from './paint.ts';
import { EXIT, processTerminal, type Terminal, UsageError } from './terminal.ts';
import { unknownVariables, withoutLinks } from './variables.ts';

export async function main(args: readonly string[], outside: Terminal = processTerminal): Promise<number> {
  const terminal: Terminal = withEnvironment(outside, withoutLinks(outside.environment));
  const [name = '--help', ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') return showHelp(rest[0], terminal);
  if (name === '--version' || name === '-V') return showVersion(terminal);
  // Before all that a server is made of is loaded, which makes the heap grow.
  if (name === 'serve') keepHeapSmall(terminal.environment.NODE_OPTIONS);
  const command = await COMMANDS.get(name)?.();
  if (command === undefined) {
    const hint = didYouMean(name, [...COMMANDS.keys()]);
    terminal.error(`sluice: there is no command ${JSON.stringify(name)}.${hint}\n\n${await overview()}`);
    return EXIT.usage;
  }
  if (rest.includes('--help') || rest.includes('-h')) return showHelp(name, terminal);
  return runCommand(command, rest, terminal);
}

/** The screen is looked for when it is wanted. */
function withEnvironment(terminal: Terminal, environment: Terminal['environment']): Terminal {
  return Object.assign(Object.create(terminal) as Terminal, { environment });
}

async function runCommand(command: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  // A server has a log for that.
  if (command.name !== 'serve') {
    for (const sentence of unknownVariables(terminal.environment)) terminal.error(`sluice: ${sentence}`);
  }
  try {
    return await command.run(parseArguments(args, command.flags, terminal), terminal);
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const hint = isUsage ? `\nsluice ${command.name} --help shows how.` : '';
    const { bad } = painter(terminal.colors?.error);
    terminal.error(`${bad(`sluice ${command.name}:`)} ${(error as Error).message}${hint}`);
    return isUsage ? EXIT.usage : EXIT.failed;
  }
}

function showVersion(terminal: Terminal): number {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  terminal.out(`sluice ${version}`);
  return EXIT.ok;
}

async function showHelp(name: string | undefined, terminal: Terminal): Promise<number> {
  const command = await COMMANDS.get(name ?? '')?.();
  terminal.out(command === undefined ? await overview() : `${command.summary}\n\n${command.help}`);
  return EXIT.ok;
}

async function overview(): Promise<string> {
  const commands = await Promise.all([...COMMANDS.values()].map((load) => load()));
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    'sluice: rate limits as a service, from a file.',
    '',
    ...lines,
    '',
    'sluice COMMAND --help has the flags of a command, and examples. sluice --version says which one this is.',
    'Exit codes: 0 yes or done, 1 no, 2 wrong usage, 3 failed.',
  ].join('\n');
}
