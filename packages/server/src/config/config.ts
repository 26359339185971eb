/** What a file says, checked: everything that can be known before the first request is known here. */
import type { Policy } from 'sluice';
import type { ExceptionEntry } from 'sluice/exceptions';
import type { Key } from 'sluice/http';
import type { EnvoyDomains } from '../envoy/domain.ts';
import type { Quota } from '../rlqs/quota.ts';
import type { Matcher } from './match.ts';
import type { TokenOf } from './read-jwt.ts';

/** A config file, read and checked. */
export interface Config {
  readonly policies: ReadonlyMap<string, NamedPolicy>;
  /** From top to bottom; every one that matches applies. */
  readonly rules: readonly Rule[];
  /** Who is believed when they say for whom they ask, as `byIp` takes it. */
  readonly trustedProxies: TrustedProxies;
  /** Who is exempt or denied, as the files say. Default: nobody. */
  readonly exceptions?: readonly ExceptionEntry[] | undefined;
  /** What the token of a request says, where there is a section `jwt`. */
  readonly tokenOf?: TokenOf | undefined;
  /** For Envoy's quota service. Default: none. */
  readonly quotas?: readonly Quota[] | undefined;
  /** What files with a `domain` say: limits for Envoy. */
  readonly envoy?: EnvoyDomains | undefined;
}

export type TrustedProxies = number | readonly string[];

/** One name, one state for each key, and several sets of numbers. */
export interface NamedPolicy {
  readonly name: string;
  readonly policy: Policy;
  readonly plans: ReadonlyMap<string, Policy>;
  /** By key. */
  readonly overrides: ReadonlyMap<string, Override>;
  /** Counts and reports, and never denies. */
  readonly shadow: boolean;
}

export interface Override {
  readonly key: string;
  readonly policy: Policy;
  /** Unix time in milliseconds from which it no longer holds; undefined for never. */
  readonly until: number | undefined;
}

export interface Rule {
  readonly name: string;
  readonly matcher: Matcher;
  /** Undefined: what matches is not limited at all, and no further rule is read. */
  readonly limit: RuleLimit | undefined;
}

export interface RuleLimit {
  readonly key: Key;
  /** As it is written, for people. */
  readonly keyText: string;
  /** Whether the path is part of the key. */
  readonly isByRoute: boolean;
  readonly policies: readonly string[];
  readonly cost: number;
  /** Which plan the caller has. */
  readonly plan: Key | undefined;
  /** As it is written: `header:NAME` or `claim:NAME`. */
  readonly planText?: string | undefined;
}

/** Whether something in it is asked for over gRPC. */
export function needsGrpc({ envoy, quotas = [] }: Config): boolean {
  return envoy !== undefined || quotas.length > 0;
}

export const EMPTY_CONFIG: Config = { policies: new Map(), rules: [], trustedProxies: 0 };
