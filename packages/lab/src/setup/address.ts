/** A set-up as parameters of the address, in words a person can read and change. What is as at first is left out. */

import { readField } from '../model/field-text.ts';
import type { Draft } from '../model/kind.ts';
import { KINDS, kindOf } from '../model/kinds/index.ts';
import { INITIAL_LIMIT, type SharedLimit } from '../model/limit.ts';
import { problemOf, tidied } from '../model/row.ts';
import { planOf } from '../model/stories/index.ts';
import { TRAFFIC_KINDS, type TrafficKind } from '../traffic/traffic.ts';
import { durationCode } from '../words/words.ts';
import { durationOf } from './duration.ts';
import { INITIAL_SETUP, MAX_BURST, MAX_COST, MAX_RATE, MAX_SPEED, MIN_SPEED, type Setup } from './setup.ts';

export function writeSetup(setup: Setup): URLSearchParams {
  const { traffic, speed, burst, cost, engine, story, limit, own } = setup;
  const parameters = new URLSearchParams();
  const put = (name: string, value: string | number | undefined, initial: string | number | undefined): void => {
    if (value !== undefined && value !== initial) parameters.set(name, String(value));
  };
  put('story', story, undefined);
  put('engine', engine, INITIAL_SETUP.engine);
  put('limit', limitText(limit), limitText(INITIAL_LIMIT));
  put('capacity', limit.burst, limit.units);
  // Always, so that no shared address is the bare one, which tells a story of its own.
  put('traffic', traffic.kind, undefined);
  put('rate', traffic.rate, INITIAL_SETUP.traffic.rate);
  put('seed', traffic.seed, INITIAL_SETUP.traffic.seed);
  put('speed', speed, INITIAL_SETUP.speed);
  put('burst', burst, INITIAL_SETUP.burst);
  put('cost', cost, INITIAL_SETUP.cost);
  for (const { id } of KINDS) put(id, own[id] === undefined ? undefined : draftText(id, own[id], limit), '');
  return parameters;
}

/** `100/1m`: so many in a window. */
function limitText({ units, window }: SharedLimit): string {
  return `${units}/${durationCode(window)}`;
}

/** The set-up that parameters describe. An address is anybody's text: whatever is not understood is as at first. */
export function readSetup(parameters: URLSearchParams): Setup {
  const number = (name: string, initial: number, min: number, max: number, whole = false): number => {
    const value = Number(parameters.get(name) ?? Number.NaN);
    return value >= min && value <= max && (!whole || Number.isInteger(value)) ? value : initial;
  };
  const initial = INITIAL_SETUP;
  const limit = readLimit(parameters);
  return {
    story: planOf(parameters.get('story'))?.id,
    engine: oneOf(['browser', 'memory', 'redis'], parameters.get('engine'), initial.engine),
    limit,
    traffic: {
      kind: oneOf<TrafficKind>(TRAFFIC_KINDS, parameters.get('traffic'), initial.traffic.kind),
      rate: number('rate', initial.traffic.rate, 0.1, MAX_RATE),
      seed: number('seed', initial.traffic.seed, 0, 2 ** 32 - 1, true),
    },
    speed: number('speed', initial.speed, MIN_SPEED, MAX_SPEED),
    burst: number('burst', initial.burst, 1, MAX_BURST, true),
    cost: number('cost', initial.cost, 1, MAX_COST, true),
    own: readOwn(parameters, limit),
  };
}

function oneOf<Choice extends string>(choices: readonly Choice[], text: string | null, initial: Choice): Choice {
  return choices.find((choice) => choice === text) ?? initial;
}

/** A number of units, a window, and how many of them at once; without the last, all. */
export function readLimit(parameters: URLSearchParams): SharedLimit {
  const [unitsText = '', windowText = ''] = (parameters.get('limit') ?? '').split('/', 2);
  const units = countOf(unitsText);
  const window = durationOf(windowText);
  const known = units === undefined || window === undefined ? INITIAL_LIMIT : { units, window, burst: units };
  return { ...known, burst: countOf(parameters.get('capacity') ?? '') ?? known.burst };
}

function countOf(text: string): number | undefined {
  const reading = readField('count', text);
  return 'value' in reading ? Number(reading.value) : undefined;
}

/** `limit:20,window:1m`: only what is not as the shared limit has it. */
function draftText(id: string, draft: Draft, limit: SharedLimit): string {
  const shared = kindOf(id)!.draftOf(limit);
  return kindOf(id)!
    .fields.filter(({ name }) => draft[name] !== shared[name])
    .map(({ name }) => `${name}:${draft[name]}`)
    .join(',');
}

function readOwn(parameters: URLSearchParams, limit: SharedLimit): Setup['own'] {
  const own = KINDS.flatMap((kind) => {
    const text = parameters.get(kind.id);
    if (text === null) return [];
    const known = new Set(kind.fields.map(({ name }) => name));
    const given = text
      .split(',')
      .map((part) => part.split(':', 2) as [string, string | undefined])
      .filter(([name, value]) => known.has(name) && value !== undefined);
    const draft = { ...kind.draftOf(limit), ...Object.fromEntries(given) } as Draft;
    return given.length === 0 || problemOf(kind, draft) !== undefined ? [] : [[kind.id, tidied(kind, draft)] as const];
  });
  return Object.fromEntries(own);
}
