/** `sluice reserve`, `settle`: an estimate is spent, and later what it really was, from the command line. */
import type { Command } from './command.ts';
import { paintAnswer, painter } from './paint.ts';
import { EXIT, OverError, UsageError } from './terminal.ts';
import { costHelp, costOf, flagsBeside, sayDecision, TARGET_HELP, targetOf, verbCommand } from './verbs.ts';

const SETTLE_HELP = `Usage: sluice settle HOLD --actual N [--max-debt N] [--server URL | --redis URL]

  --actual N       units that were really used; 0 cancels. NAME=N,NAME=N for each policy by its name
  --max-debt N     how far below empty it may go when more was used than reserved; 0 by default
${TARGET_HELP}

Examples:
  sluice settle "$hold" --actual 512
  sluice settle "$hold" --actual requests=1,tokens=512`;

const settleCommand: Command = {
  name: 'settle',
  summary:
    'Settles a hold with the units that were really used, and gives the rest back. Exit code 1 when it was settled before, or too late.',
  help: SETTLE_HELP,
  flags: flagsBeside(['actual', 'max-debt']),
  async run(flags, terminal) {
    const [hold] = flags.words;
    if (hold === undefined || flags.words.length > 1) {
      throw new UsageError('expected one hold, as sluice reserve prints it');
    }
    const actual = costOf('actual', flags.text('actual'));
    if (actual === undefined) throw new UsageError('expected --actual N, the units that were really used; 0 cancels');
    const maxDebt = costOf('max-debt', flags.text('max-debt'));
    const body = { hold, actual, ...(maxDebt === undefined ? {} : { maxDebt }) };
    try {
      const answer = await (await targetOf(flags, terminal))('settle', body);
      terminal.out(
        flags.has('json') ? JSON.stringify(answer) : paintAnswer(saySettled(answer), painter(terminal.colors?.out)),
      );
      return answer.expired === true ? EXIT.no : EXIT.ok;
    } catch (error) {
      if (!(error instanceof OverError)) throw error;
      terminal.out(flags.has('json') ? JSON.stringify({ settled: false, message: error.message }) : error.message);
      return EXIT.no;
    }
  },
};

function saySettled({ expired, missing, remaining, limit, policy }: Readonly<Record<string, unknown>>): string {
  if (expired === true) return 'too late: the ttl of the hold is over, and what was reserved stays spent';
  const left = `settled: ${remaining} of ${limit} left (${policy})`;
  return Number(missing) > 0 ? `${left}; ${missing} more were used than could be charged, see --max-debt` : left;
}

export const HOLD_COMMANDS: readonly Command[] = [
  verbCommand({
    name: 'reserve',
    summary: 'Spends an estimate, and prints the hold to settle. Exit code 0 for yes, 1 for no.',
    usage: '[--cost 1] [--ttl 60s] ',
    own: ['cost', 'ttl'],
    ownHelp: [costHelp('reserve'), '  --ttl TIME       how long it can be settled, up to 1h; 60s by default'].join(
      '\n',
    ),
    examples: [
      'sluice reserve user:42 --policy tokens --cost 800',
      'hold=$(sluice reserve user:42 --policy tokens --cost 800) && ./ask-model && sluice settle "$hold" --actual 512',
    ],
    say: (answer) =>
      answer.allowed === true && typeof answer.hold === 'string' ? [EXIT.ok, answer.hold] : sayDecision(answer),
  }),
  settleCommand,
];
