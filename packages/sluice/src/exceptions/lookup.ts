/**
 * Finds the exceptions of a key. What that costs does not depend on how many there are: a hash for keys, a trie of characters for prefixes, one of
 * bits for networks. A key that has none costs a look into the hash and the first characters that no prefix shares.
 */

import { isIpv4 } from '../http/address.ts';
import type { Clock } from '../model/clock.ts';
import { identity } from '../model/maybe-promise.ts';
import { type ExceptionEntry, untilOf } from './entry.ts';
import { networkOfKey, parseNetwork } from './network.ts';

/** An entry, ready to be used. */
export interface Held {
  readonly entry: ExceptionEntry;
  /** Milliseconds. */
  readonly until: number;
}

interface Node<Step> {
  readonly next: Map<Step, Node<Step>>;
  readonly held: Held[];
}

function newNode<Step>(): Node<Step> {
  return { next: new Map(), held: [] };
}

export class Lookup {
  readonly size: number;
  readonly #keys = new Map<string, Held[]>();
  readonly #prefixes = newNode<number>();
  readonly #ipv4 = newNode<number>();
  readonly #ipv6 = newNode<number>();
  readonly #nameOf: (key: string) => string;
  #hasPrefixes = false;
  #hasNetworks = false;

  /** Of two entries about the same, the one that comes first holds while it holds. `nameOf` says how entries name a whole key. */
  constructor(entries: readonly ExceptionEntry[], nameOf: (key: string) => string = identity) {
    this.#nameOf = nameOf;
    // Blocks are kept by the states of their keys; here they are only listed.
    const used = entries.filter(({ kind }) => kind !== 'block');
    this.size = used.length;
    for (const entry of used) this.#nodeOf(entry).push({ entry, until: untilOf(entry) });
  }

  #nodeOf({ key, prefix, network }: ExceptionEntry): Held[] {
    if (key !== undefined) return madeIn(this.#keys, key, () => []);
    if (prefix !== undefined) {
      this.#hasPrefixes = true;
      return walk(this.#prefixes, codesOf(prefix)).held;
    }
    this.#hasNetworks = true;
    const { base, bits } = parseNetwork(network, 'network');
    // Only what lies within IPv4 altogether is of IPv4.
    const isOfIpv4 = bits >= 96 && isIpv4(base);
    return walk(isOfIpv4 ? this.#ipv4 : this.#ipv6, bitsOf(base, isOfIpv4 ? 96 : 0, bits)).held;
  }

  /** Those that hold now, the most specific first: the key itself, then prefixes, then networks, long ones before short ones. Undefined: none. */
  find(key: string, clock: Clock): readonly ExceptionEntry[] | undefined {
    const found = this.#candidates(key);
    if (found === undefined) return undefined;
    const now = clock.now();
    const held = found.filter(({ until }) => now < until).map(({ entry }) => entry);
    return held.length === 0 ? undefined : held;
  }

  #candidates(key: string): readonly Held[] | undefined {
    const ofKey = this.#keys.size === 0 ? undefined : this.#keys.get(this.#nameOf(key));
    const ofPrefix = this.#hasPrefixes ? along(this.#prefixes, codesOf(key)) : undefined;
    const ofNetwork = this.#hasNetworks ? this.#networksOf(key) : undefined;
    if (ofPrefix === undefined && ofNetwork === undefined) return ofKey;
    return [...(ofKey ?? []), ...(ofPrefix ?? []), ...(ofNetwork ?? [])];
  }

  #networksOf(key: string): readonly Held[] | undefined {
    const network = networkOfKey(key);
    if (network === undefined) return undefined;
    const isOfIpv4 = isIpv4(network.base);
    return along(isOfIpv4 ? this.#ipv4 : this.#ipv6, bitsOf(network.base, isOfIpv4 ? 96 : 0, network.bits));
  }
}

function walk<Step>(from: Node<Step>, steps: Iterable<Step>): Node<Step> {
  let node = from;
  for (const step of steps) node = madeIn(node.next, step, newNode<Step>);
  return node;
}

/** What lies on the way, the farthest first. Undefined: nothing. */
function along<Step>(from: Node<Step>, steps: Iterable<Step>): Held[] | undefined {
  let found: Held[] | undefined = from.held.length === 0 ? undefined : [...from.held];
  let node: Node<Step> | undefined = from;
  for (const step of steps) {
    node = node.next.get(step);
    if (node === undefined) break;
    if (node.held.length > 0) found = found === undefined ? [...node.held] : [...node.held, ...found];
  }
  return found;
}

function* codesOf(text: string): Iterable<number> {
  for (let at = 0; at < text.length; at += 1) yield text.charCodeAt(at);
}

function* bitsOf(address: readonly number[], from: number, to: number): Iterable<number> {
  for (let bit = from; bit < to; bit += 1) yield (address[bit >> 4]! >> (15 - (bit & 15))) & 1;
}

function madeIn<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
