/** `sluice check`: everything that is wrong with files, before a server reads them. */
import { type Command, parseArguments } from './command.ts';
import { readConfigFile } from './config-file.ts';
import { EXIT, UsageError } from './terminal.ts';

export const checkCommand: Command = {
  name: 'check',
  summary: 'Checks config files and prints every problem with file, line and path.',
  help: `Usage: sluice check FILE...

Exit code 0 when all files are right, 1 when one is not.

Examples:
  sluice check policies.yaml
  sluice check config/*.yaml`,
  async run(args, terminal) {
    const { words: files } = parseArguments(args, {});
    if (files.length === 0) throw new UsageError('which file?');
    const reports = await Promise.all(files.map(readConfigFile));
    reports.forEach(({ config, lines }, index) => {
      if (config === undefined) for (const line of lines) terminal.out(line);
      else terminal.out(`${files[index]}: ${config.policies.size} policies, ${config.rules.length} rules`);
    });
    return reports.every(({ config }) => config !== undefined) ? EXIT.ok : EXIT.no;
  },
};
