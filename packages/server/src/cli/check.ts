/** `sluice check`: everything that is wrong with files, before a server reads them. */

import type { HeldByFile } from '../config/read-config.ts';
import { type FileProblem, problemText } from '../files/problem.ts';
import { configOf, findFiles } from '../service/load-config.ts';
import { type Command, parseArguments } from './command.ts';
import { EXIT, UsageError } from './terminal.ts';

export const checkCommand: Command = {
  name: 'check',
  summary: 'Checks config files and prints every problem with file, line and path.',
  help: `Usage: sluice check PATH... [--json]

A path is a file, or a folder of *.yaml and *.yml. All of them are one config, as for sluice serve with a --config for each: rules of one
may name policies of another, and the same policy in two of them is a problem.

  --json  the files and problems as JSON

Exit code 0 when all files are right, 1 when there are problems.

Examples:
  sluice check policies.yaml
  sluice check base.yaml rules/
  sluice check --json /etc/sluice`,
  async run(args, terminal) {
    const flags = parseArguments(args, { json: { type: 'boolean' } }, terminal);
    if (flags.words.length === 0) throw new UsageError('which file?');
    const { config, files, problems } = configOf(await findFiles(flags.words), terminal.environment);
    terminal.out(
      flags.has('json')
        ? JSON.stringify({ ok: config !== undefined, files, problems: problems.map(plain) }, undefined, 2)
        : linesOf(files, problems).join('\n'),
    );
    return config === undefined ? EXIT.no : EXIT.ok;
  },
};

/** Where it stands first, and nothing of how it would be told as text. */
function plain({ file, line, column, path, message }: FileProblem): object {
  return { file, line, column, path, message };
}

function linesOf(files: readonly HeldByFile[], problems: readonly FileProblem[]): string[] {
  const good = files.filter(({ file }) => problems.every((problem) => problem.file !== file));
  return [...good.map((held) => `${held.file}: ${heldText(held)}`), ...problems.map(problemText)];
}

function heldText({ policies, rules, quotas, domain, limits }: HeldByFile): string {
  if (domain !== undefined) return `domain ${domain}, ${limits} limits`;
  return `${policies} policies, ${rules} rules${quotas === undefined ? '' : `, ${quotas} quotas`}`;
}
