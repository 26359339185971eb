/**
 * A story is data: a script of requests, and beats that say when to slow down, where to look, what to ask and what to say. Its words are made of the
 * counts there are, so they are true for any limit. On virtual time every run is the same. In real time a request is decided a little after it is due, so
 * no request of a script is due where a little makes a difference.
 */
import type { Arrival, RowId } from '../../trace/trace.ts';
import { durationWords } from '../../words/words.ts';
import type { SharedLimit } from '../limit.ts';
import type { Row } from '../row.ts';

/** What words can be made of: how things stand at the moment that is shown. */
export interface Facts {
  /** Requests of a client so far; the first client by default. */
  sent(client?: number): number;
  allowed(row: RowId, client?: number): number;
  denied(row: RowId, client?: number): number;
  remaining(row: RowId, client?: number): number;
  /** The most units within one window. */
  worst(row: RowId): number;
  /** Milliseconds: the longest that a request had to wait. */
  longestWait(row: RowId): number;
  readonly rows: readonly Row[];
}

export interface Question {
  readonly text: string;
  readonly choices: readonly string[];
  /** What was right, told after the fact: one of the choices. */
  answer(facts: Facts): string;
}

export interface Beat {
  /** Lab time at which it begins. */
  readonly at: number;
  /** How fast time goes from here on, as a share of normal. */
  readonly pace?: number;
  /** The row to look at. */
  readonly row?: RowId;
  /** What to say from here on. */
  caption?(facts: Facts): string;
  /** Time stands until somebody has answered, or does not want to. */
  readonly ask?: Question;
  /** Time stands for as long as reading takes. */
  readonly holds?: boolean;
  /** Whether the answer to the last question can be told from here on; at the end it can in any case. */
  readonly tells?: boolean;
}

/** A story made for a limit. */
export interface Story {
  readonly id: string;
  readonly title: string;
  /** What comes, in a sentence. */
  readonly about: string;
  readonly limit: SharedLimit;
  readonly clients: readonly string[];
  /** Rows of its own instead of those of the algorithms. Only this page can play them. */
  readonly rows?: readonly Row[];
  /** Lab time at which it opens and closes: it ends on the frame that tells the most. */
  readonly start: number;
  readonly end: number;
  readonly script: readonly Arrival[];
  /** In order. */
  readonly beats: readonly Beat[];
  /** What there is to learn, at the end. */
  point(facts: Facts): string;
}

/** What a story is made from. */
export interface Plan {
  readonly id: string;
  readonly title: string;
  /** For a search engine and for a link's preview. */
  readonly description: string;
  /** The limit is the reader's own, unless the story needs another. */
  make(limit: SharedLimit): Story;
}

export const ONE_CLIENT: readonly string[] = ['client'];

/** How late a request may be decided, in milliseconds, and every count of every story at the first limit is still the same. */
export const BEARABLE_DELAY = 100;

/** `count` arrivals from `from` on, each `gap` later than the one before. */
export function series(from: number, count: number, gap: number, client = 0, cost = 1): Arrival[] {
  return Array.from({ length: count }, (_, index) => ({ at: from + index * gap, client, cost }));
}

export function inOrder(...parts: readonly Arrival[][]): Arrival[] {
  return parts.flat().sort((one, other) => one.at - other.at);
}

/** "10 in 10 s". */
export function limitWords({ units, window }: SharedLimit): string {
  return `${units} in ${durationWords(window)}`;
}

/** "10", or "10 to 12" where rows differ. */
export function between(facts: Facts, rows: readonly RowId[], client = 0): string {
  const counts = rows.map((row) => facts.allowed(row, client));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? `${least}` : `${least} to ${most}`;
}

/** The choices in order, each once, with the one that is right. */
export function choicesOf(...numbers: readonly number[]): readonly string[] {
  return [...new Set(numbers.map(Math.round))].sort((one, other) => one - other).map(String);
}

export const WINDOWS: readonly RowId[] = ['fixed-window', 'sliding-window-log', 'sliding-window-counter'];
export const BUCKETS: readonly RowId[] = ['token-bucket', 'leaky-bucket-policing', 'gcra'];
export const SHAPING: RowId = 'leaky-bucket-shaping';
