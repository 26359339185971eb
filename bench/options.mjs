/** What the command line says. */
import { parseArgs } from 'node:util';
import { runsByDefault } from './groups.mjs';

export const helpText = (groups) => `npm run bench -- [options]

  --quick            few rounds and small sizes, about four minutes; good for a look, not for a claim
  --only LIST        some groups, with commas between
  --against COMMIT   builds that commit beside this tree, and measures both in the same rounds
  --json FILE        writes everything that was measured, every sample included
  --trace FILE       a trace of requests to a language model, for the group llm: TIMESTAMP, ContextTokens, GeneratedTokens
  --write-results    writes bench/results, bench/RESULTS.md and the numbers in README.md
  --help             this text

${groups.map(({ name, about, place }) => `  ${name.padEnd(22)} ${about}${place < 100 ? '' : ' (only when asked for)'}`).join('\n')}

Tables go to stdout, progress to stderr. The exit code is 1 when something failed; to be slower than another is no failure.`;

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  against: { type: 'string' },
  json: { type: 'string' },
  trace: { type: 'string' },
  'write-results': { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

export function readOptions(args, groups) {
  const values = parsed(args);
  const names = values.only?.split(',').map((name) => name.trim());
  const unknown = names?.filter((name) => !groups.some((group) => group.name === name)) ?? [];
  if (unknown.length > 0) {
    throw usage(
      `There is no group ${unknown.join(', ')}. There are: ${groups.map(({ name }) => name).join(', ')}. Try --help.`,
    );
  }
  const chosen = groups.filter((group) => names?.includes(group.name) ?? runsByDefault(group, values.against));
  return {
    ...values,
    groups: chosen,
    writeResults: values['write-results'],
    command: ['npm run bench --', ...args].join(' '),
  };
}

function parsed(args) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (error) {
    throw usage(`${error.message}. Try --help.`);
  }
}

const usage = (message) => Object.assign(new Error(message), { isUsage: true });
