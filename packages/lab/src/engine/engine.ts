/** Who decides: the library in this page on a clock of its own, or a server, in real time. */
import type { Row } from '../model/row.ts';
import type { Answer } from '../trace/answers.ts';
import type { Arrival, RowId } from '../trace/trace.ts';

export type EngineKind = 'browser' | 'memory' | 'redis';

/** What a store holds for a row, as it is there. */
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
  /** In the order of the rows; undefined of those that were not asked. */
  readonly answers: readonly (Answer | undefined)[];
}

export interface Engine {
  readonly kind: EngineKind;
  /** For people, at the beginning of a sentence. */
  readonly name: string;
  /** Whether its time is made, not found: it can then be paused, sped up and told again. */
  readonly isVirtual: boolean;
  /** Asks every row, or the one it is for, about each arrival, in order. */
  ask(arrivals: readonly Arrival[], clients: readonly string[], rows: readonly Row[]): Promise<readonly Answered[]>;
  /** Every client has everything back. */
  reset(): Promise<void>;
  /** What its clock says, in milliseconds. */
  readClock(): Promise<number>;
  /** What the store holds for each row since the last answer; the browser's has nothing raw to show. */
  readonly raw: ReadonlyMap<RowId, RawState | null>;
  /** How often the store carried out which command for the last attempt on each row. */
  readonly commands: ReadonlyMap<RowId, Readonly<Record<string, number>>>;
}
