/** What the command line says. */
import { parseArgs } from 'node:util';
import { FAULTS } from './catalogue.mjs';
import { FRAMEWORKS } from './frameworks.mjs';

const NAMES = [...FAULTS.map(({ name }) => name), 'frameworks'];

export const HELP = `npm run faults -- [options]

Three processes under traffic, and a Redis server that is killed, stopped, flushed, cut off: what they were told meanwhile. Then a server of
each framework whose Redis is stopped: what its clients were told.

  --only LIST      some of: ${NAMES.join(', ')}
  --json FILE      writes everything that was measured
  --write-docs     writes the table into docs/faults.md
  --help           this text

The table goes to stdout, progress to stderr. The exit code is 1 when a promise was broken.`;

export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      json: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const names = values.only?.split(',').map((name) => name.trim());
  const unknown = names?.filter((name) => !NAMES.includes(name)) ?? [];
  if (unknown.length > 0) throw new Error(`no such fault: ${unknown.join(', ')}; see --help`);
  const faults = FAULTS.filter(({ name }) => names === undefined || names.includes(name));
  if (values['write-docs'] && faults.length > 0 && faults.length < FAULTS.length) {
    throw new Error('--write-docs needs all faults: leave --only out, or say --only frameworks');
  }
  const frameworks = names === undefined || names.includes('frameworks') ? FRAMEWORKS : [];
  return { ...values, faults, frameworks, writeDocs: values['write-docs'] };
}
