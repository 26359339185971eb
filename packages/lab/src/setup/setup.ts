/** What a lab is set to. Everything in it can be said in an address. */
import type { EngineKind } from '../engine/engine.ts';
import type { Draft } from '../model/kind.ts';
import { KINDS } from '../model/kinds/index.ts';
import { INITIAL_LIMIT, type SharedLimit } from '../model/limit.ts';
import { type Row, rowOf } from '../model/row.ts';
import type { Arrival, RowId } from '../trace/trace.ts';
import type { Traffic } from '../traffic/traffic.ts';

export interface Setup {
  readonly limit: SharedLimit;
  /** Rows with numbers of their own. */
  readonly own: Readonly<Record<RowId, Draft>>;
  readonly traffic: Traffic;
  readonly speed: number;
  /** How many requests a burst has. */
  readonly burst: number;
  readonly cost: number;
  readonly engine: EngineKind;
  /** The story that is told. */
  readonly story: string | undefined;
}

/** A moment of a lab that can be shown again: what was sent by hand until then, and when the traffic began. */
export interface SharedMoment {
  readonly sent: readonly Arrival[];
  /** Lab time, in milliseconds. */
  readonly time: number;
  readonly trafficFrom: number;
}

export const INITIAL_SETUP: Setup = {
  limit: INITIAL_LIMIT,
  own: {},
  traffic: { kind: 'manual', rate: 20, seed: 1 },
  speed: 1,
  burst: 10,
  cost: 1,
  engine: 'browser',
  story: undefined,
};

export const MIN_SPEED = 0.1;
export const MAX_SPEED = 100;
export const MAX_RATE = 10_000;
export const MAX_BURST = 1_000;
export const MAX_COST = 1_000_000;

/** The rows that a set-up means, in their order. */
export function rowsOf({ limit, own }: Pick<Setup, 'limit' | 'own'>): readonly Row[] {
  return KINDS.map((kind) => rowOf(kind, limit, own[kind.id]));
}
