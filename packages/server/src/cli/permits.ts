/** `sluice enter`, `extend`, `release`: limits in flight from the command line. */
import type { Command } from './command.ts';
import { paintAnswer, painter } from './paint.ts';
import { EXIT, UsageError } from './terminal.ts';
import { flagsBeside, sayDecision, TARGET_HELP, targetOf, verbCommand } from './verbs.ts';

function permitCommand(
  name: 'release' | 'extend',
  summary: string,
  example: string,
  say: (isDone: boolean) => string,
): Command {
  return {
    name,
    summary,
    help: [
      `Usage: sluice ${name} PERMIT [--server URL | --redis URL]`,
      `\n${TARGET_HELP}\n`,
      `Examples:\n  ${example}`,
    ].join('\n'),
    flags: flagsBeside([]),
    async run(flags, terminal) {
      const [permit] = flags.words;
      if (permit === undefined || flags.words.length > 1)
        throw new UsageError('expected one permit, as sluice enter prints it');
      const answer = await (await targetOf(flags, terminal))(name, { permit });
      const isDone = (name === 'release' ? answer.released : answer.extended) === true;
      terminal.out(
        flags.has('json') ? JSON.stringify(answer) : paintAnswer(say(isDone), painter(terminal.colors?.out)),
      );
      return isDone ? EXIT.ok : EXIT.no;
    },
  };
}

export const PERMIT_COMMANDS: readonly Command[] = [
  verbCommand({
    name: 'enter',
    summary: 'Takes a place under a concurrency limit and prints the permit. Exit code 0 for yes, 1 for no.',
    usage: '[--cost 1] ',
    own: ['cost'],
    ownHelp: '  --cost N         places to take; 1 by default. NAME=N,NAME=N for each policy by its name',
    examples: [
      'sluice enter gpu --policy renderers',
      'permit=$(sluice enter gpu --policy renderers) && { ./render; sluice release "$permit"; }',
    ],
    say: (answer) => (answer.allowed === true ? [EXIT.ok, String(answer.permit)] : sayDecision(answer)),
  }),
  permitCommand('release', 'Gives a place back.', 'sluice release "$permit"', (isDone) =>
    isDone ? 'done: the place is free' : 'nothing to release: the permit was released, or its ttl is over',
  ),
  permitCommand('extend', 'Extends a permit by a whole ttl from now.', 'sluice extend "$permit"', (isDone) =>
    isDone ? 'done: held for another ttl' : 'lost: the permit was released, or its ttl is over',
  ),
];
