/** `sluice attempt`, `peek`, `refund`, `penalize`, `reset`, `block`, `unblock`, `history`: the verbs from the command line. */
import { parseDuration } from 'sluice';
import { roughTime } from '../files/time-text.ts';
import type { Arguments, Command, Flags } from './command.ts';
import { paintAnswer, painter } from './paint.ts';
import { REDIS_FLAGS, REDIS_HELP, redisTarget } from './redis-flags.ts';
import { SERVER_FLAGS, SERVER_HELP, serverApi } from './server-api.ts';
import { EXIT, type Terminal, UsageError } from './terminal.ts';
import type { Ask, VerbName } from './verb-target.ts';

const OWN_FLAGS: Flags = {
  cost: { type: 'string' },
  id: { type: 'string' },
  ttl: { type: 'string' },
  for: { type: 'string' },
  limit: { type: 'string' },
  after: { type: 'string' },
  actual: { type: 'string' },
  'max-debt': { type: 'string' },
};

const TARGET_FLAGS = {
  policy: { type: 'string', multiple: true },
  plan: { type: 'string' },
  ...SERVER_FLAGS,
  ...REDIS_FLAGS,
  // Only when it is said: where SLUICE_REDIS is set for a server, that server is to be asked.
  redis: { type: 'string' },
  config: { type: 'string', multiple: true, isFile: true },
  json: { type: 'boolean' },
} as const satisfies Flags;

/** Those of all verbs, and some that not every verb has. */
export function flagsBeside(own: readonly string[]): Flags {
  return { ...Object.fromEntries(own.map((flag) => [flag, OWN_FLAGS[flag]!])), ...TARGET_FLAGS };
}

export const TARGET_HELP = `  --policy NAME    a policy of the config, or an inline policy as JSON; may be repeated: all or nothing
  --plan NAME      which numbers of a configured policy apply
${SERVER_HELP}
  --json           the whole answer as JSON

To work directly on Redis, without a server:
  --redis ADDRESS  as for sluice serve; to name policies you need --config (with --config also SLUICE_REDIS, or else REDIS_URL)
  --config PATH    a file or folder with the policies for --redis; may be repeated
${REDIS_HELP}

Exit codes: 0 yes or done, 1 no, 2 wrong usage, 3 failed.`;

export function costHelp(what: string): string {
  return `  --cost N         units to ${what}; 1 by default. NAME=N,NAME=N for each policy by its name`;
}

interface VerbCommand {
  readonly name: VerbName;
  readonly summary: string;
  readonly usage: string;
  /** Flags of its own. */
  readonly own: readonly string[];
  readonly ownHelp?: string;
  readonly examples: readonly string[];
  /** Exit code and sentence. */
  say(answer: Answer): readonly [exit: number, text: string];
}

type Answer = Readonly<Record<string, unknown>>;

export function verbCommand(command: VerbCommand): Command {
  const { name, summary, usage, ownHelp, examples } = command;
  return {
    name,
    summary,
    help: [
      `Usage: sluice ${name} KEY --policy NAME ${usage}[--server URL | --redis URL]`,
      ['', ...(ownHelp === undefined ? [] : [ownHelp]), TARGET_HELP, ''].join('\n'),
      ['Examples:', ...examples.map((example) => `  ${example}`)].join('\n'),
    ].join('\n'),
    flags: flagsBeside(command.own),
    async run(flags, terminal) {
      const body = bodyOf(flags, command);
      const target = await targetOf(flags, terminal);
      const answer = await target(name, body);
      const [exit, text] = command.say(answer);
      terminal.out(flags.has('json') ? JSON.stringify(answer) : paintAnswer(text, painter(terminal.colors?.out)));
      return exit;
    },
  };
}

function bodyOf(flags: Arguments, { own }: VerbCommand): object {
  const [key] = flags.words;
  if (key === undefined || flags.words.length > 1) throw new UsageError('expected one key');
  const policies = flags.texts('policy').map(policyOf);
  if (policies.length === 0) throw new UsageError('expected --policy NAME');
  return {
    key,
    ...(policies.length === 1 ? { policy: policies[0] } : { policies }),
    ...given('plan', flags.text('plan')),
    ...given('cost', costOf('cost', flags.text('cost'))),
    ...given('id', flags.text('id')),
    ...given('ttl', secondsOf('ttl', flags.text('ttl'))),
    ...given('limit', numberOf('limit', flags.text('limit'), 'a whole number', WHOLE)),
    ...given('after', numberOf('after', flags.text('after'), 'Unix time in seconds', /^\d{1,12}(?:\.\d{1,9})?$/)),
    ...(own.includes('for') ? { duration: durationOf(flags.text('for')) } : {}),
  };
}

function given(field: string, value: unknown): object {
  return value === undefined ? {} : { [field]: value };
}

function policyOf(text: string): unknown {
  if (!text.trimStart().startsWith('{')) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--policy: ${(error as Error).message}`);
  }
}

const WHOLE = /^\d{1,16}$/;

function numberOf(flag: string, text: string | undefined, expected: string, form: RegExp): number | undefined {
  if (text === undefined) return undefined;
  if (form.test(text)) return Number(text);
  throw new UsageError(`--${flag}: expected ${expected}, got ${JSON.stringify(text)}`);
}

/** `5`, or `requests=1,tokens=900` for each policy by its name. */
export function costOf(flag: string, text: string | undefined): number | Record<string, number> | undefined {
  if (text === undefined || !text.includes('=')) return numberOf(flag, text, 'a whole number', WHOLE);
  const costs = text.split(',').map((part): [string, number] => {
    const [, name, units] = /^(.+)=(\d{1,16})$/.exec(part) ?? [];
    if (name !== undefined) return [name, Number(units)];
    throw new UsageError(`--${flag}: expected NAME=UNITS, such as tokens=900, got ${JSON.stringify(part)}`);
  });
  return Object.fromEntries(costs);
}

/** The API counts a ttl in whole seconds. */
function secondsOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    return Math.ceil(parseDuration(text) / 1e3);
  } catch {
    throw new UsageError(`--${flag}: expected a time such as 90s or 10m, got ${JSON.stringify(text)}`);
  }
}

function durationOf(text: string | undefined): string {
  if (text === undefined) throw new UsageError('expected --for TIME, such as --for 10m');
  return text;
}

export async function targetOf(flags: Arguments, terminal: Terminal): Promise<Ask> {
  const paths = flags.texts('config');
  // Variables count only where a config says that Redis is meant: the one who set them for a server wants that server to be asked.
  const { SLUICE_REDIS, REDIS_URL } = paths.length === 0 ? {} : terminal.environment;
  const redis = await redisTarget(flags, { REDIS_URL: SLUICE_REDIS || REDIS_URL });
  if (redis === undefined) {
    if (paths.length > 0) throw new UsageError('--config goes with --redis: a server has its own');
    const { ask } = serverApi(flags);
    return (verb, body) => ask(`/v1/${verb}`, body);
  }
  if (flags.isGiven('server')) throw new UsageError('either --server or --redis');
  const { askRedis } = await import('./verb-target.ts');
  return askRedis(redis, paths, terminal);
}

export function sayDecision(answer: Answer): readonly [number, string] {
  const { allowed, remaining, limit, policy, retryAfter, resetAfter, delay } = answer;
  const left = `${remaining} of ${limit} left`;
  // Where a policy shapes, whoever goes on at once goes too early.
  const wait = typeof delay === 'number' ? `wait ${roughTime(delay)} first, ` : '';
  if (allowed === true) return [EXIT.ok, `allowed: ${wait}${left} (${policy}), reset in ${timeText(resetAfter)}`];
  const when = Number.isFinite(retryAfter) ? `try again in ${timeText(retryAfter)}` : 'this cost never fits';
  return [EXIT.no, `denied: ${left} (${policy}), ${when}`];
}

function timeText(seconds: unknown): string {
  return roughTime(Number(seconds));
}

/** A line for each entry, with the time to the microsecond, as the log has it. */
function sayHistory({ policy, entries, next }: Answer): readonly [number, string] {
  const list = entries as readonly { readonly at: number; readonly cost: number }[];
  const units = list.reduce((sum, { cost }) => sum + cost, 0);
  const lines = list.map(({ at, cost }) => `${momentText(at)}  ${cost}`);
  const more = next === null ? '' : `, more with --after ${next}`;
  return [EXIT.ok, [...lines, `${list.length} entries, ${units} units allowed (${policy})${more}`].join('\n')];
}

function momentText(at: number): string {
  const micros = Math.round(at * 1e6);
  const fraction = String(micros % 1e6).padStart(6, '0');
  return `${new Date(Math.floor(micros / 1e6) * 1e3).toISOString().slice(0, 19)}.${fraction}Z`;
}

export const VERB_COMMANDS: readonly Command[] = [
  verbCommand({
    name: 'attempt',
    summary: 'Checks whether this key may spend now, and spends. Exit code 0 for yes, 1 for no.',
    usage: '[--cost 1] [--id ID] ',
    own: ['cost', 'id', 'ttl'],
    ownHelp: [
      `${costHelp('spend')};`,
      '                   most=100,least=1 takes as much as there is',
      '  --id ID          tells a retry from a new attempt: a retry is allowed and spends nothing',
      '  --ttl TIME       how long an id is remembered; 10m by default',
    ].join('\n'),
    examples: [
      'sluice attempt user:42 --policy api',
      'sluice attempt user:42 --policy api --id "$REQUEST_ID"',
      'sluice attempt user:42 --policy api --policy daily --cost 5 --json',
      'sluice attempt openai --policy requests --policy tokens --cost requests=1,tokens=900',
      'sluice attempt nightly-job --policy \'{"algorithm":"fixed-window","limit":1,"window":"1h"}\' && ./job',
      'sluice attempt user:42 --policy api --redis redis://localhost:6379 --config policies.yaml',
    ],
    say: sayDecision,
  }),
  verbCommand({
    name: 'peek',
    summary: 'Shows what an attempt would get; spends nothing. Exit codes as for attempt.',
    usage: '[--cost 1] ',
    own: ['cost'],
    ownHelp: costHelp('ask for'),
    examples: ['sluice peek user:42 --policy api'],
    say: sayDecision,
  }),
  verbCommand({
    name: 'refund',
    summary: 'Gives back units, those that were spent last.',
    usage: '[--cost 1] ',
    own: ['cost'],
    ownHelp: costHelp('give back'),
    examples: ['sluice refund user:42 --policy api --cost 5'],
    say: ({ changed, remaining, limit, policy }) => [
      EXIT.ok,
      `done: ${changed} given back, ${remaining} of ${limit} left (${policy})`,
    ],
  }),
  verbCommand({
    name: 'penalize',
    summary: 'Spends units even if fewer are left, down to zero.',
    usage: '[--cost 1] ',
    own: ['cost'],
    ownHelp: costHelp('take'),
    examples: ['sluice penalize user:42 --policy api --cost 10'],
    say: ({ changed, remaining, limit, policy }) => [
      EXIT.ok,
      `done: ${changed} taken, ${remaining} of ${limit} left (${policy})`,
    ],
  }),
  verbCommand({
    name: 'history',
    summary: 'Lists the attempts that a sliding window log has allowed, and when.',
    usage: '[--limit 100] [--after TIME] ',
    own: ['limit', 'after'],
    ownHelp: [
      '  --limit N        the most entries to list, up to 1000; 100 by default',
      '  --after TIME     only later entries: Unix time in seconds, as in the last line of the previous page',
    ].join('\n'),
    examples: ['sluice history user:42 --policy login', 'sluice history user:42 --policy login --limit 1000 --json'],
    say: sayHistory,
  }),
  verbCommand({
    name: 'reset',
    summary: 'Resets a key: forgets what it has spent, and its block.',
    usage: '',
    own: [],
    examples: ['sluice reset user:42 --policy api --policy daily'],
    say: () => [EXIT.ok, 'done: the key is reset'],
  }),
  verbCommand({
    name: 'block',
    summary: 'Denies every attempt of a key for a while.',
    usage: '--for TIME ',
    own: ['for'],
    ownHelp: '  --for TIME       how long, such as 10m or 1h',
    examples: ['sluice block user:42 --policy api --for 10m'],
    say: ({ retryAfter }) => [EXIT.ok, `done: blocked for ${timeText(retryAfter)}`],
  }),
  verbCommand({
    name: 'unblock',
    summary: 'Ends a block; what was spent stays spent.',
    usage: '',
    own: [],
    examples: ['sluice unblock user:42 --policy api'],
    say: () => [EXIT.ok, 'done: not blocked'],
  }),
];
