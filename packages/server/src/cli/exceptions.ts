/** `sluice exceptions`: who is exempt, denied or has other numbers on a server, and changes of that. */
import type { ExceptionEntry } from 'sluice/exceptions';
import type { Arguments, Command, Flags } from './command.ts';
import { SERVER_FLAGS, SERVER_HELP, type ServerApi, serverApi } from './server-api.ts';
import { table } from './table.ts';
import { EXIT, UsageError } from './terminal.ts';

const FLAGS = {
  ...SERVER_FLAGS,
  prefix: { type: 'string' },
  network: { type: 'string' },
  for: { type: 'string' },
  until: { type: 'string' },
  reason: { type: 'string' },
  policy: { type: 'string' },
  json: { type: 'boolean' },
} as const satisfies Flags;

const ACTIONS = ['list', 'exempt', 'deny', 'override', 'remove'] as const;

export const exceptionsCommand: Command = {
  name: 'exceptions',
  summary: 'Lists and changes which keys are exempt, denied or have other numbers, on all servers of a store.',
  help: `Usage: sluice exceptions [list [KEY]]
       sluice exceptions exempt|deny SUBJECT [--for TIME | --until MOMENT] [--reason TEXT]
       sluice exceptions override SUBJECT NAME=NUMBER ... [--policy NAME] [--for TIME | --until MOMENT] [--reason TEXT]
       sluice exceptions remove SUBJECT

SUBJECT is KEY, --prefix TEXT (all keys that begin with TEXT), or --network CIDR (all keys that are addresses in it).
Every server sees a change within a second. Without --for and --until an exception does not expire.

  --prefix TEXT    all keys that begin with TEXT, instead of KEY
  --network CIDR   all keys that are addresses in this network, instead of KEY
  --for TIME       how long it applies, such as 1h
  --until MOMENT   when it ends, such as 2027-01-31
  --reason TEXT    why, for people who read the list
  --policy NAME    override only this policy
${SERVER_HELP}
  --json           the whole answer as JSON

Exit codes: 0 done, 1 there was nothing to remove, 2 wrong usage, 3 failed.

Examples:
  sluice exceptions
  sluice exceptions exempt user:42 --for 1h --reason 'load test'
  sluice exceptions deny --network 203.0.113.0/24 --for 1d
  sluice exceptions override user:7 capacity=5000 refillRate=500/s --policy api --until 2027-01-31
  sluice exceptions remove user:42`,
  words: ACTIONS,
  flags: FLAGS,
  async run(flags, terminal) {
    const [action = 'list', ...words] = flags.words;
    if (!ACTIONS.includes(action as 'list')) {
      throw new UsageError(`expected ${ACTIONS.join(', ')}, got ${JSON.stringify(action)}`);
    }
    const api = serverApi(flags);
    const { exit, answer, text } = await run(action as (typeof ACTIONS)[number], words, flags, api);
    terminal.out(flags.has('json') ? JSON.stringify(answer) : text);
    return exit;
  },
};

interface Done {
  readonly exit: number;
  readonly answer: object;
  readonly text: string;
}

const PATH = '/v1/exceptions';

async function run(
  action: (typeof ACTIONS)[number],
  words: readonly string[],
  flags: Arguments,
  api: ServerApi,
): Promise<Done> {
  if (action === 'list') {
    refuseMore(words, 1);
    const query = words[0] === undefined ? '' : `?${new URLSearchParams({ key: words[0] })}`;
    const answer = await api.ask(`${PATH}${query}`);
    return { exit: EXIT.ok, answer, text: listText(answer) };
  }
  const { subject, rest } = subjectOf(words, flags);
  if (action === 'remove') {
    refuseMore(rest, 0);
    const answer = await api.ask(`${PATH}?${new URLSearchParams(subject)}`, undefined, 'DELETE');
    const removed = Number(answer.removed);
    const text = removed === 0 ? 'there was none' : `done: ${removed} removed`;
    return { exit: removed === 0 ? EXIT.no : EXIT.ok, answer, text };
  }
  if (action !== 'override') refuseMore(rest, 0);
  const numbers = action === 'override' ? { numbers: numbersIn(rest) } : {};
  const texts = ['for', 'until', 'reason', 'policy'].flatMap((name) => {
    const text = flags.text(name);
    return text === undefined ? [] : [[name, text]];
  });
  const answer = await api.ask(PATH, { kind: action, ...subject, ...numbers, ...Object.fromEntries(texts) });
  const { until } = answer as unknown as ExceptionEntry;
  return { exit: EXIT.ok, answer, text: `done: ${until === undefined ? 'without an end' : `until ${until}`}` };
}

function subjectOf(words: readonly string[], flags: Arguments) {
  const [prefix, network] = [flags.text('prefix'), flags.text('network')];
  if (prefix !== undefined && network !== undefined) throw new UsageError('either --prefix or --network');
  if (prefix !== undefined) return { subject: { prefix }, rest: words };
  if (network !== undefined) return { subject: { network }, rest: words };
  const [key, ...rest] = words;
  if (key === undefined) throw new UsageError('expected a key, --prefix TEXT or --network CIDR');
  return { subject: { key }, rest };
}

function numbersIn(words: readonly string[]): Record<string, number | string> {
  if (words.length === 0) throw new UsageError('expected NAME=NUMBER, such as capacity=5000');
  const pairs = words.map((word): [string, number | string] => {
    const [, name, value] = /^(\w+)=(\d.*)$/.exec(word) ?? [];
    if (name === undefined)
      throw new UsageError(`expected NAME=NUMBER, such as capacity=5000, got ${JSON.stringify(word)}`);
    return [name, /^\d+(?:\.\d+)?$/.test(value!) ? Number(value) : value!];
  });
  return Object.fromEntries(pairs);
}

function refuseMore(words: readonly string[], most: number): void {
  if (words.length > most) throw new UsageError(`unexpected ${JSON.stringify(words[most])}`);
}

function listText(answer: object): string {
  const { exceptions, current } = answer as { exceptions: readonly ExceptionEntry[]; current: boolean };
  const stale = current ? [] : ['The store does not answer: this is the last known list.'];
  if (exceptions.length === 0) return [...stale, 'no exceptions'].join('\n');
  const columns = ['KIND', 'FOR', 'NUMBERS', 'UNTIL', 'REASON'].map((title) => ({ title }));
  return [...stale, ...table(columns, exceptions.map(rowOf))].join('\n');
}

function rowOf({ kind, key, prefix, network, policy, numbers = {}, until, reason }: ExceptionEntry): string[] {
  const pairs = Object.entries(numbers).map(([name, value]) => `${name}=${value}`);
  const subject = key ?? (prefix === undefined ? network! : `${prefix}*`);
  return [
    kind,
    subject,
    [...(policy === undefined ? [] : [`${policy}:`]), ...pairs].join(' '),
    until ?? '',
    reason ?? '',
  ];
}
