/**
 * One store over several independent ones: each key lives on one of them. Which one is found by rendezvous hashing: every store bids for a key with a
 * hash of both their names, and the highest bid has it. So all processes agree without talking, a store that is added takes an equal part from
 * each of the others, and nothing moves between those that stay. A store that is away takes only its own keys with it.
 */

import { Kind } from '../model/errors.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { type Answer, checkStore, checksOf, type Place, type Question, type Store } from '../model/store.ts';
import { changeAcross, decideAcross } from '../store/across-keys.ts';

/** What `sharded` takes besides the stores. */
export interface ShardedOptions {
  /**
   * What each store is called, in their order: keys belong to names. With names a store can be taken out of the middle of the list. Default: their
   * places in the list, so that stores are added at its end.
   */
  readonly names?: readonly string[] | undefined;
}

/**
 * A store over several independent stores, such as Redis servers that know nothing of each other. Give all processes the same list. An attempt on several
 * keys that live on different stores is decided store by store, and what was spent is given back when a later one denies.
 *
 * @example
 * const store = sharded([redisStore(first), redisStore(second), redisStore(third)]);
 */
export function sharded(stores: readonly Store[], options: ShardedOptions = {}): Store {
  checkOptionNames(options, ['names'], 'sharded');
  if (!Array.isArray(stores) || stores.length === 0) {
    throw invalidOption('sharded(stores)', 'a list of at least one store', Kind.of(stores));
  }
  const checked = stores.map((store, index) => checkStore(store, `sharded(stores)[${index}]`));
  const seeds = namesOf(options.names, checked.length).map((name) => hashOf(name, SEED));
  const ownerOf = (key: string): number => highestBidder(hashOf(key, 0), hashOf(key, SEED), seeds);
  const store: Store = {
    place: placeOf(checked),
    ask(question) {
      const owners = keysIn(question).map(ownerOf);
      const [first = 0] = owners;
      if (owners.every((owner) => owner === first)) return checked[first]!.ask(question);
      return askSeveral(store, question, ownerOf);
    },
  };
  return store;
}

function askSeveral(store: Store, question: Question, ownerOf: (key: string) => number): MaybePromise<Answer> {
  if (question.verb === 'attempt') {
    const groups = new Map<number, number[]>();
    for (const [index, { key }] of checksOf(question).entries()) {
      const owner = ownerOf(key);
      groups.set(owner, [...(groups.get(owner) ?? []), index]);
    }
    return decideAcross(store, question, [...groups.values()]);
  }
  if (question.verb !== 'change') throw new Error('only attempts and changes can be about several keys');
  return changeAcross(store, question.changes, [...new Set(keysIn(question))]);
}

function keysIn(question: Question): readonly string[] {
  if (question.verb === 'attempt') return checksOf(question).map(({ key }) => key);
  return question.verb === 'change' ? question.changes.map(({ key }) => key) : [question.key];
}

function namesOf(names: unknown, count: number): readonly string[] {
  if (names === undefined) return Array.from({ length: count }, (_, index) => String(index));
  const isFine =
    Array.isArray(names) &&
    names.length === count &&
    names.every((name) => typeof name === 'string') &&
    new Set(names).size === count;
  if (isFine) return names;
  throw invalidOption('sharded.names', `${count} different texts, one for each store`, names);
}

/** Shared if all of them are. All of them hear which policies there are. */
function placeOf(stores: readonly Store[]): Place {
  const places = stores.flatMap(({ place }) => (place === undefined ? [] : [place]));
  return {
    isShared: stores.every(({ place }) => place?.isShared !== false),
    announce: (policies) => {
      for (const place of places) place.announce?.(policies);
    },
  };
}

const SEED = 0x9e3779b9;

/** Two hashes of the key, so that two keys rarely have the same bids. */
function highestBidder(high: number, low: number, seeds: readonly number[]): number {
  let winner = 0;
  let [best, next] = [-1, -1];
  for (const [index, seed] of seeds.entries()) {
    const bid = mixed(high ^ seed);
    const tie = mixed(low + seed);
    if (bid < best || (bid === best && tie <= next)) continue;
    [winner, best, next] = [index, bid, tie];
  }
  return winner;
}

/** FNV-1a over UTF-16 units, finished. The same in every process and version: where keys live depends on it. */
function hashOf(text: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  return mixed(hash);
}

/** Every bit depends on every bit (the finisher of MurmurHash3). */
function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
