/** What an Envoy rate limit file says, checked: a tree of descriptors for each domain. */
import type { Policy } from 'sluice';
import type { CalendarUnit, Unit } from './unit.ts';
import type { Wildcard } from './wildcard.ts';

/** By name. */
export type EnvoyDomains = ReadonlyMap<string, EnvoyDomain>;

export interface EnvoyDomain {
  readonly name: string;
  /** The file it was read from. */
  readonly file: string;
  /** Of the first depth, in the order of the file. */
  readonly nodes: readonly Node[];
  readonly level: Level;
  /** Months are those of the calendar. */
  readonly usesCalendarMonth: boolean;
}

/** Those of the descriptors at one depth that an entry of a request is looked up among. */
export interface Level {
  /** By key, then by value. */
  readonly exact: ReadonlyMap<string, ReadonlyMap<string, Node>>;
  /** In the order of the file: the first that matches is taken. */
  readonly wildcards: readonly WildcardNode[];
  /** Without a value: any value will do. */
  readonly byKey: ReadonlyMap<string, Node>;
}

export interface WildcardNode {
  readonly wildcard: Wildcard;
  /** What it is compared with: the value of an entry with this very key, or `key_value` where the star stands in the key. */
  readonly of: 'value' | 'composite';
  readonly node: Node;
}

export interface Node {
  readonly key: string;
  /** Undefined: any. */
  readonly value: string | undefined;
  /** `key_value` or `key` from the first depth to this one, as metrics and errors name it. */
  readonly path: readonly string[];
  /** Undefined: what ends here is not limited. */
  readonly rule: Rule | undefined;
  /** All values that match the wildcard have one state together. */
  readonly sharesThreshold: boolean;
  /** The value that came is named in metrics in place of the file's. */
  readonly valueToMetric: boolean;
  readonly children: Level;
}

export interface Rule {
  /** Undefined: unlimited. */
  readonly limit: Limit | undefined;
  /** Empty for none. */
  readonly name: string;
  /** Names of the rules that do not hold in a request in which this one does. */
  readonly replaces: readonly string[];
  readonly shadow: boolean;
  readonly quota: boolean;
  /** Metrics name every value that came. */
  readonly detailedMetric: boolean;
  readonly metadata: Metadata | undefined;
}

export type Metadata = Readonly<Record<string, unknown>>;

export interface Limit {
  readonly requestsPerUnit: number;
  /** As Envoy is told. */
  readonly unit: Unit;
  /** Of a limit that follows the calendar: in whose periods it counts. */
  readonly calendar?: CalendarUnit | undefined;
  /** The most that can be spent at once: the capacity of a bucket, else the requests per unit. 0 denies everything that spends. */
  readonly size: number;
  readonly policy: Policy;
  /** Of a fixed window: the same state without a limit, so that what is above the limit can be seen, or counted. */
  readonly counter: Policy | undefined;
}
