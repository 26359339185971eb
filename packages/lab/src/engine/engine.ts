/** Who decides: the library in this page on a clock of its own, or a server, in real time. */
import type { CardId, Policies } from '../cards/catalog.ts';
import type { Answer, Arrival } from './trace.ts';

export type EngineKind = 'browser' | 'memory' | 'redis';

/** What a store holds for a card, as it is there. */
export interface RawState {
  readonly key: string;
  readonly type: string;
  readonly value: string;
  /** What the value says, in words. */
  readonly reading: string;
  readonly ttlMs: number | null;
  readonly memoryBytes: number | null;
}

export interface Answered {
  /** When it was decided, on the engine's clock, in milliseconds. */
  readonly at: number;
  readonly client: number;
  readonly cost: number;
  /** In the order of the cards. */
  readonly answers: readonly Answer[];
}

export interface Engine {
  readonly kind: EngineKind;
  /** Whether its time is made, not found: it can then be paused, sped up and told again. */
  readonly isVirtual: boolean;
  /** Asks every card about each arrival, in order. */
  ask(arrivals: readonly Arrival[], clients: readonly string[], policies: Policies): Promise<readonly Answered[]>;
  /** Every client is as good as new. */
  reset(): Promise<void>;
  /** What its clock says, in milliseconds. */
  readClock(): Promise<number>;
  /** What the store holds for each card since the last answer; the browser's has nothing raw to show. */
  readonly raw: ReadonlyMap<CardId, RawState | null>;
  /** How often the store carried out which command for the last attempt on each card. */
  readonly commands: ReadonlyMap<CardId, Readonly<Record<string, number>>>;
}
