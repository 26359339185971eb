/** `sluice check`: everything that is wrong with files, before a server reads them. */

import type { HeldByFile } from '../config/read-config.ts';
import { type FileProblem, problemText } from '../files/problem.ts';
import { configOf, type FoundFiles, findFiles } from '../service/load-config.ts';
import type { Command } from './command.ts';
import { type Painter, painter } from './paint.ts';
import { printable } from './table.ts';
import { EXIT, UsageError } from './terminal.ts';

export const checkCommand: Command = {
  name: 'check',
  summary: 'Checks config files and shows every problem with file, line and path.',
  help: `Usage: sluice check PATH... [--json]

A path is a file, or a folder of *.yaml and *.yml. All of them form one config, as when sluice serve gets a --config for each: the
rules of one file may name policies of another, and a policy that is in two files is a problem.

  --json  the files and problems as JSON

Exit code 0 when all files are valid, 1 when there are problems.

Examples:
  sluice check policies.yaml
  sluice check base.yaml rules/
  sluice check --json /etc/sluice`,
  words: 'files',
  flags: { json: { type: 'boolean' } },
  async run(flags, terminal) {
    if (flags.words.length === 0) throw new UsageError('which file?');
    const found = await findFiles(flags.words);
    const { config, files, problems } = configOf(found, terminal.environment);
    terminal.out(
      flags.has('json')
        ? JSON.stringify({ ok: config !== undefined, files, problems: problems.map(plain) }, undefined, 2)
        : linesOf(files, problems, frames(found, painter(terminal.colors?.out))).join('\n'),
    );
    return config === undefined ? EXIT.no : EXIT.ok;
  },
};

/** Where it stands first, and nothing of how it would be told as text. */
function plain({ file, line, column, path, message }: FileProblem): object {
  return { file, line, column, path, message };
}

function linesOf(files: readonly HeldByFile[], problems: readonly FileProblem[], { paint, frame }: Frames): string[] {
  const good = files.filter(({ file }) => problems.every((problem) => problem.file !== file));
  const bad = new Set(problems.map(({ file }) => file)).size;
  const ending =
    bad === 0
      ? paint.good(`${counted(files.length, 'file')}, no problems`)
      : `${paint.bad(`${counted(problems.length, 'problem')} in ${counted(bad, 'file')}`)}${good.length === 0 ? '' : `, ${counted(good.length, 'file')} without`}`;
  return [
    ...good.map((held) => `${held.file}: ${heldText(held)}`),
    ...problems.flatMap((problem) => [problemText(problem), ...frame(problem)]),
    ending,
  ];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function heldText({ policies, rules, quotas, domain, limits }: HeldByFile): string {
  if (domain !== undefined) return `domain ${domain}, ${limits} limits`;
  return `${policies} policies, ${rules} rules${quotas === undefined ? '' : `, ${quotas} quotas`}`;
}

/** The line that a problem stands in, with a mark below the place. */
interface Frames {
  readonly paint: Painter;
  frame(problem: FileProblem): readonly string[];
}

/** A line that is longer is cut around the place. */
const WIDTH = 100;

function frames({ texts }: FoundFiles, paint: Painter): Frames {
  const linesIn = new Map(texts.map(({ file, text }) => [file, text.split(/\r?\n/)]));
  return {
    paint,
    frame({ file, line, column }) {
      const whole = line === undefined ? undefined : linesIn.get(file)?.[line - 1];
      if (whole === undefined || column === undefined || whole.trim() === '') return [];
      const from = Math.max(0, Math.min(column - 1 - WIDTH / 2, whole.length - WIDTH));
      const shown = printable(whole.slice(from, from + WIDTH).replaceAll('\t', ' '));
      const margin = String(line);
      return [
        `${paint.dim(`${margin} |`)} ${shown}`,
        `${paint.dim(`${' '.repeat(margin.length)} |`)} ${' '.repeat(column - 1 - from)}${paint.bad('^')}`,
      ];
    },
  };
}
