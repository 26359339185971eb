/**
 * All states of one key as one value, for engines that can read a value and swap it. Little-endian: a version; then for each state its
 * identity (length and UTF-8; of a mark `#` and its id), when it may be forgotten and until when it is blocked (doubles), how many numbers it has, and the numbers
 * (doubles).
 */
import { type SluiceError, wrong } from '../model/errors.ts';
import type { Rule } from '../model/rule.ts';
import type { Numbers, Step } from '../model/step.ts';
import type { States } from './states.ts';

const VERSION = 1;

/**
 * So many marks of one kind beside the states of a key, which are read and written with every swap: about 60 bytes each, and as much again for a
 * long id. The first letter of an id says its kind, so that whoever chooses ids for retries leaves holds their room.
 */
export const MOST_MARKS = 256;

interface Kept {
  forgetAt: number;
  blockedUntil: number;
  numbers: number[] | undefined;
}

/** The states of one key, as they were read. */
export class KeyStates implements States {
  readonly #byIdentity: Map<string, Kept>;
  /** Whether anything was changed, so that it has to be written. */
  isChanged = false;

  constructor(value: Uint8Array | undefined) {
    this.#byIdentity = value === undefined ? new Map() : decode(value);
  }

  read(_key: string, { identity }: Rule, now: number): Numbers | undefined {
    const kept = this.#byIdentity.get(identity);
    return kept !== undefined && kept.forgetAt > now ? kept.numbers : undefined;
  }

  write(key: string, rule: Rule, now: number, step: Step): void {
    const state = this.read(key, rule, now) as number[] | undefined;
    const kept = this.#of(rule);
    kept.numbers = rule.width > 0 ? Array.from(step.next.subarray(0, rule.width)) : rule.write!(state, step);
    kept.forgetAt = now + step.resetAfter;
    this.isChanged = true;
  }

  remove(_key: string, { identity }: Rule, now: number): void {
    const kept = this.#byIdentity.get(identity);
    if (kept === undefined || kept.forgetAt <= now) return;
    kept.forgetAt = 0;
    kept.numbers = undefined;
    this.isChanged = true;
  }

  blockedUntil(_key: string, { identity }: Rule): number {
    return this.#byIdentity.get(identity)?.blockedUntil ?? 0;
  }

  block(_key: string, rule: Rule, until: number, now: number): void {
    if (until <= now && this.blockedUntil(_key, rule) <= now) return;
    this.#of(rule).blockedUntil = until > now ? until : 0;
    this.isChanged = true;
  }

  marked(_key: string, id: string, now: number): Numbers | undefined {
    const kept = this.#byIdentity.get(`#${id}`);
    return kept !== undefined && kept.forgetAt > now ? kept.numbers : undefined;
  }

  /** One that finds no room is not made: a repetition is charged again then, and nothing can be given back twice. */
  mark(_key: string, id: string, numbers: number[] | undefined, until: number, now: number): boolean {
    const identity = `#${id}`;
    if (numbers === undefined) this.#byIdentity.delete(identity);
    else if (this.#marksLike(identity, now) >= MOST_MARKS) return false;
    else this.#byIdentity.set(identity, { forgetAt: until, blockedUntil: 0, numbers });
    this.isChanged = true;
    return true;
  }

  #marksLike(identity: string, now: number): number {
    const kind = identity.slice(0, 2);
    let count = 0;
    for (const [other, { forgetAt }] of this.#byIdentity) if (forgetAt > now && other.startsWith(kind)) count += 1;
    return count;
  }

  #of({ identity }: Pick<Rule, 'identity'>): Kept {
    const known = this.#byIdentity.get(identity);
    if (known !== undefined) return known;
    const kept: Kept = { forgetAt: 0, blockedUntil: 0, numbers: undefined };
    this.#byIdentity.set(identity, kept);
    return kept;
  }

  /** What still means something, and for how many microseconds; undefined when nothing does. */
  value(now: number): { readonly bytes: Uint8Array; readonly lasts: number } | undefined {
    let lasts = 0;
    const live: [string, Kept][] = [];
    for (const [identity, kept] of this.#byIdentity) {
      const until = Math.max(kept.forgetAt, kept.blockedUntil);
      if (until <= now) continue;
      lasts = Math.max(lasts, until - now);
      live.push([identity, kept.forgetAt > now ? kept : { ...kept, numbers: undefined }]);
    }
    return live.length === 0 ? undefined : { bytes: encode(live), lasts };
  }
}

function encode(states: readonly (readonly [string, Kept])[]): Uint8Array {
  const encoder = new TextEncoder();
  const parts = states.map(([identity, kept]) => ({ name: encoder.encode(identity), kept }));
  const size = parts.reduce((sum, { name, kept }) => sum + 2 + name.length + 20 + (kept.numbers?.length ?? 0) * 8, 1);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes[0] = VERSION;
  let at = 1;
  for (const { name, kept } of parts) {
    view.setUint16(at, name.length, true);
    bytes.set(name, at + 2);
    at += 2 + name.length;
    view.setFloat64(at, kept.forgetAt, true);
    view.setFloat64(at + 8, kept.blockedUntil, true);
    view.setUint32(at + 16, kept.numbers?.length ?? 0, true);
    at += 20;
    for (const number of kept.numbers ?? []) {
      view.setFloat64(at, number, true);
      at += 8;
    }
  }
  return bytes;
}

function decode(value: Uint8Array): Map<string, Kept> {
  if (value[0] !== VERSION) throw unreadable(value);
  const decoder = new TextDecoder();
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  const states = new Map<string, Kept>();
  try {
    for (let at = 1; at < value.length; ) {
      const length = view.getUint16(at, true);
      const identity = decoder.decode(value.subarray(at + 2, at + 2 + length));
      at += 2 + length;
      const count = view.getUint32(at + 16, true);
      const numbers = Array.from({ length: count }, (_, index) => view.getFloat64(at + 20 + index * 8, true));
      const [forgetAt, blockedUntil] = [view.getFloat64(at, true), view.getFloat64(at + 8, true)];
      states.set(identity, { forgetAt, blockedUntil, numbers: count === 0 ? undefined : numbers });
      at += 20 + count * 8;
    }
  } catch {
    throw unreadable(value);
  }
  return states;
}

/** Left alone: it may be of a newer version of Sluice, or of another program. */
function unreadable(value: Uint8Array): SluiceError {
  return wrong(
    'SLUICE_UNEXPECTED_REPLY',
    'store',
    `a value of Sluice's in version ${VERSION}`,
    value.length === 0 ? '' : value[0],
  );
}
