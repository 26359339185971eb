/** What the command line says. */
import { parseArgs } from 'node:util';

export const GROUPS = ['memory', 'redis', 'log', 'middleware', 'growth', 'open-loop', 'leases', 'service'];

export const HELP = `npm run bench -- [options]

  --quick            small sizes and few rounds, under two minutes; good for a look, not for a claim
  --only LIST        some of: ${GROUPS.join(',')}
  --json FILE        writes everything that was measured, every sample included
  --html FILE        writes a report with charts, in one file
  --write-results    writes bench/RESULTS.md
  --help             this text

The table goes to stdout, progress to stderr. The exit code is 1 when a contender failed; a target that is not met is no failure.`;

export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string' },
      html: { type: 'string' },
      'write-results': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const groups = values.only === undefined ? GROUPS : values.only.split(',').map((name) => name.trim());
  const unknown = groups.filter((name) => !GROUPS.includes(name));
  if (unknown.length > 0) throw new Error(`no such group: ${unknown.join(', ')}; there are ${GROUPS.join(', ')}`);
  return { ...values, groups, writeResults: values['write-results'] };
}
