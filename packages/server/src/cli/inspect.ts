/** `sluice inspect`: what Redis holds of a key, decoded. Spends and changes nothing. */
import { roughTime } from '../files/time-text.ts';
import { readStates, type SeenState } from '../service/inspect-key.ts';
import { loadConfig } from '../service/load-config.ts';
import { stateText } from '../service/state-text.ts';
import type { Command, Flags } from './command.ts';
import { REDIS_FLAGS, REDIS_HELP, redisTarget } from './redis-flags.ts';
import { shortened, table } from './table.ts';
import { EXIT, UsageError } from './terminal.ts';
import { onRedis } from './verb-target.ts';

const FLAGS = {
  policy: { type: 'string', multiple: true },
  config: { type: 'string', multiple: true, isFile: true, variable: 'SLUICE_CONFIG' },
  ...REDIS_FLAGS,
  json: { type: 'boolean' },
} as const satisfies Flags;

export const inspectCommand: Command = {
  name: 'inspect',
  summary: 'Decodes what Redis holds for a key: state, block, expiry, memory. Exit code 1 when there is nothing.',
  help: `Usage: sluice inspect KEY --redis ADDRESS [--policy NAME]... [--config PATH]... [--json]

Reads and decodes every state of the key, of any algorithm, and changes nothing. It finds the states with SCAN, over all keys of the
server. With --policy and --config it knows their names and needs no SCAN.

  --redis ADDRESS     as for sluice serve (SLUICE_REDIS, or else REDIS_URL)
  --policy NAME       only this policy; may be repeated
  --config PATH       the numbers of the policies, to show also how much is left (SLUICE_CONFIG)
${REDIS_HELP}
  --json              everything as JSON, with each entry of a log and the raw value in base64

Exit codes: 0 there is a state, 1 there is none (nothing is spent), 2 wrong usage, 3 failed.

Examples:
  sluice inspect user:42 --redis redis://localhost:6379
  sluice inspect user:42 --redis redis://localhost:6379 --config policies.yaml
  sluice inspect header:x-api-key:abc --redis redis+cluster://one:6379,two:6379 --policy api --json`,
  flags: FLAGS,
  async run(flags, terminal) {
    const [key] = flags.words;
    if (key === undefined || flags.words.length > 1) throw new UsageError('expected one key');
    const target = await redisTarget(flags, terminal.environment);
    if (target === undefined)
      throw new UsageError('expected --redis ADDRESS: only Redis holds states that can be read');
    const paths = flags.texts('config');
    const config = paths.length === 0 ? undefined : (await loadConfig(paths, terminal.environment)).config;
    const only = flags.texts('policy');
    const { at, states } = await onRedis(target, (client) =>
      readStates(client, { ...target, key, config, only: only.length === 0 ? undefined : only }),
    );
    terminal.out(
      flags.has('json')
        ? JSON.stringify({ key, at, states: states.map(jsonOf) }, undefined, 2)
        : linesOf(key, at, states).join('\n'),
    );
    return states.length === 0 ? EXIT.no : EXIT.ok;
  },
};

function jsonOf({ value, ...state }: SeenState): object {
  const { times: _, ...rest } = 'times' in state ? state : { ...state, times: undefined };
  return { ...rest, value: Buffer.from(value).toString('base64') };
}

function linesOf(key: string, at: number, states: readonly SeenState[]): string[] {
  if (states.length === 0) return [`${key}: no state, so nothing is spent`];
  const rows = states.map((state) => [
    state.policy ?? '(without a name)',
    state.kind,
    'problem' in state ? state.problem : stateText(state, (moment) => ageText(moment, at)),
    ...('problem' in state ? ['', ''] : [leftText(state), blockText(state.blockedUntil, at)]),
    state.ttlMs < 0 ? 'never' : `in ${roughTime(state.ttlMs / 1e3)}`,
    state.memoryBytes === null ? '?' : String(state.memoryBytes),
    shortened(rawText(state.value), 40),
  ]);
  return table(COLUMNS, rows);
}

const COLUMNS = [
  { title: 'POLICY' },
  { title: 'KIND' },
  { title: 'STATE' },
  { title: 'LEFT' },
  { title: 'BLOCKED' },
  { title: 'EXPIRES' },
  { title: 'BYTES', align: 'right' },
  { title: 'VALUE' },
] as const;

function leftText({ left }: Extract<SeenState, { left: unknown }>): string {
  return left === null ? '' : `${left.remaining} of ${left.limit}`;
}

function blockText(blockedUntil: number | null, at: number): string {
  return blockedUntil === null || blockedUntil <= at ? 'no' : ageText(blockedUntil, at);
}

function ageText(moment: number, at: number): string {
  const time = roughTime(Math.abs(at - moment));
  return moment <= at ? `${time} ago` : `in ${time}`;
}

/** As redis-cli prints it. */
function rawText(bytes: Uint8Array): string {
  const escaped = (byte: number): string =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`;
  return [...bytes.subarray(0, 64)].map(escaped).join('');
}
