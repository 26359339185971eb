/** A set-up as parameters of the address, in words a person can read and change. What is as at first is left out. */
import { CARDS, type CardId, cardOf, type Draft, type Drafts, INITIAL_DRAFTS, problemOf } from '../cards/catalog.ts';
import type { EngineKind } from '../engine/engine.ts';
import { type PresetId, presetOf } from '../presets/presets.ts';
import { TRAFFIC_KINDS, type Traffic, type TrafficKind } from '../traffic/traffic.ts';

export interface Setup {
  readonly drafts: Drafts;
  readonly traffic: Traffic;
  readonly speed: number;
  readonly burst: number;
  readonly cost: number;
  readonly engine: EngineKind;
  readonly preset: PresetId | undefined;
}

export const INITIAL_SETUP: Setup = {
  drafts: INITIAL_DRAFTS,
  traffic: { kind: 'manual', rate: 2, seed: 1 },
  speed: 1,
  burst: 10,
  cost: 1,
  engine: 'browser',
  preset: undefined,
};

export const MIN_SPEED = 0.1;
export const MAX_SPEED = 100;
export const MAX_RATE = 1_000;
export const MAX_BURST = 1_000;
export const MAX_COST = 1_000;

export function writeSetup(setup: Setup): URLSearchParams {
  const { traffic, speed, burst, cost, engine, preset, drafts } = setup;
  const parameters = new URLSearchParams();
  const put = (name: string, value: string | number | undefined, initial: string | number | undefined): void => {
    if (value !== undefined && value !== initial) parameters.set(name, String(value));
  };
  put('preset', preset, undefined);
  put('engine', engine, INITIAL_SETUP.engine);
  // Always, so that no shared address is the bare one, which tells a story of its own.
  put('traffic', traffic.kind, undefined);
  put('rate', traffic.rate, INITIAL_SETUP.traffic.rate);
  put('seed', traffic.seed, INITIAL_SETUP.traffic.seed);
  put('speed', speed, INITIAL_SETUP.speed);
  put('burst', burst, INITIAL_SETUP.burst);
  put('cost', cost, INITIAL_SETUP.cost);
  for (const { id } of CARDS) put(id, draftText(id, drafts[id]) || undefined, undefined);
  return parameters;
}

/** The set-up that parameters describe. An address is anybody's text: whatever is not understood is as at first. */
export function readSetup(parameters: URLSearchParams): Setup {
  const number = (name: string, initial: number, min: number, max: number, whole = false): number => {
    const value = Number(parameters.get(name) ?? Number.NaN);
    return value >= min && value <= max && (!whole || Number.isInteger(value)) ? value : initial;
  };
  const initial = INITIAL_SETUP;
  return {
    preset: presetOf(parameters.get('preset'))?.id,
    engine: oneOf(['browser', 'memory', 'redis'], parameters.get('engine'), initial.engine),
    traffic: {
      kind: oneOf<TrafficKind>(TRAFFIC_KINDS, parameters.get('traffic'), initial.traffic.kind),
      rate: number('rate', initial.traffic.rate, 0.1, MAX_RATE),
      seed: number('seed', initial.traffic.seed, 0, 2 ** 32 - 1, true),
    },
    speed: number('speed', initial.speed, MIN_SPEED, MAX_SPEED),
    burst: number('burst', initial.burst, 1, MAX_BURST, true),
    cost: number('cost', initial.cost, 1, MAX_COST, true),
    drafts: Object.fromEntries(CARDS.map(({ id }) => [id, readDraft(id, parameters.get(id))])) as Drafts,
  };
}

function oneOf<Choice extends string>(choices: readonly Choice[], text: string | null, initial: Choice): Choice {
  return choices.find((choice) => choice === text) ?? initial;
}

/** `limit:20,window:1m`: only what differs. */
function draftText(id: CardId, draft: Draft): string {
  return cardOf(id)
    .fields.filter(({ name, initial }) => (draft[name] ?? initial) !== initial)
    .map(({ name }) => `${name}:${draft[name]}`)
    .join(',');
}

function readDraft(id: CardId, text: string | null): Draft {
  const known = new Set(cardOf(id).fields.map(({ name }) => name));
  const given = (text ?? '')
    .split(',')
    .map((part) => part.split(':', 2) as [string, string | undefined])
    .filter(([name, value]) => known.has(name) && value !== undefined);
  const draft = { ...INITIAL_DRAFTS[id], ...Object.fromEntries(given) } as Draft;
  return problemOf(id, draft) === undefined ? draft : INITIAL_DRAFTS[id];
}

/** The address of the lab with one card set to these fields, for example from the chooser: `labAddress('token-bucket', { capacity: '100', refillRate: '10' })`. */
export function labAddress(id: CardId, fields: Draft): string {
  const drafts = { ...INITIAL_DRAFTS, [id]: { ...INITIAL_DRAFTS[id], ...fields } };
  const traffic: Traffic = { ...INITIAL_SETUP.traffic, kind: 'poisson' };
  return `#/?${withFocus(writeSetup({ ...INITIAL_SETUP, drafts, traffic }), id)}`;
}

function withFocus(parameters: URLSearchParams, id: CardId): URLSearchParams {
  parameters.set('card', id);
  return parameters;
}
