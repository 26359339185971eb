/**
 * The state of a limit in flight: the permits that are held, in the order in which they end. A permit is known by the moment at which it was
 * to end when it was taken, and no two of a key share one: of permits that are taken within a microsecond each ends one later. Keeping a
 * permit for longer changes when it ends and not what it is known by, so that an answer that got lost harms nobody.
 *
 * As numbers: [units of all of them, the latest time that one was taken or kept at, then of each permit (id, end, units)]. Permits whose time is
 * over are dropped with the next write that takes one. Twin: concurrency.lua.
 */
import type { Numbers } from '../../model/step.ts';

const TOTAL = 0;
const LATEST = 1;
const FIRST = 2;
const SIZE = 3;

/** The three numbers of a permit. */
const ID = 0;
const END = 1;
const UNITS = 2;

function countOf(places: Numbers): number {
  return (places.length - FIRST) / SIZE;
}

function at(index: number): number {
  return FIRST + index * SIZE;
}

export function endOf(places: Numbers, index: number): number {
  return places[at(index) + END]!;
}

export function unitsOf(places: Numbers, index: number): number {
  return places[at(index) + UNITS]!;
}

export function latest(places: Numbers): number {
  return places[LATEST]!;
}

/** When the last of them ends; 0 when there is none. */
export function newestEnd(places: Numbers): number {
  return places.length > FIRST ? places[places.length - SIZE + END]! : 0;
}

/** Those that are over, and the units of the others. */
export interface Held {
  readonly expired: number;
  readonly used: number;
}

export function heldAt(places: Numbers, now: number): Held {
  const count = countOf(places);
  let used = places[TOTAL]!;
  let expired = 0;
  while (expired < count && endOf(places, expired) <= now) {
    used -= unitsOf(places, expired);
    expired += 1;
  }
  return { expired, used };
}

/** When so many permits have ended that at most `room` units are held. */
export function freedAt(places: Numbers, { expired, used }: Held, room: number): number {
  let left = used;
  let index = expired;
  while (left > room) {
    left -= unitsOf(places, index);
    index += 1;
  }
  return endOf(places, index - 1);
}

/** The permit that is known by this moment and whose time is not over, or -1. Those who give one back most often hold a recent one. */
export function indexOf(places: Numbers, id: number, now: number): number {
  for (let index = countOf(places) - 1; index >= 0 && endOf(places, index) > now; index -= 1) {
    if (places[at(index) + ID] === id) return index;
  }
  return -1;
}

/** The oldest `expired` are over, and a permit is taken until `end`. In place. */
export function take(places: number[], expired: number, now: number, ttl: number, units: number): number[] {
  const end = nextEnd(places, now, ttl);
  for (let index = 0; index < expired; index += 1) places[TOTAL]! -= unitsOf(places, index);
  if (expired > 0) places.splice(FIRST, expired * SIZE);
  places[TOTAL]! += units;
  places[LATEST] = Math.max(latest(places), now);
  places.push(end, end, units);
  return places;
}

/** A permit ends no earlier than one that was taken before it, and never at the same moment. */
export function nextEnd(places: Numbers, now: number, ttl: number): number {
  return Math.max(now + ttl, newestEnd(places) + 1);
}

/** Takes units out of a permit, or all of it. In place. */
export function giveBack(places: number[], index: number, units: number): number[] {
  places[TOTAL]! -= units;
  if (unitsOf(places, index) > units) places[at(index) + UNITS]! -= units;
  else places.splice(at(index), SIZE);
  return places;
}

/** The newest ones go until so many units are back. In place. */
export function giveBackNewest(places: number[], units: number): number[] {
  for (let left = units; left > 0; ) {
    const index = countOf(places) - 1;
    const some = Math.min(left, unitsOf(places, index));
    giveBack(places, index, some);
    left -= some;
  }
  return places;
}

/** A permit ends later than all others from now on. In place. */
export function move(places: number[], index: number, end: number, now: number): number[] {
  const [id, , units] = places.splice(at(index), SIZE);
  places.push(id!, end, units!);
  places[LATEST] = Math.max(latest(places), now);
  return places;
}

/**
 * After a large step back of the clock: those that counted when it was last right last as long as they would have. What they are known by stays,
 * so that they can still be given back.
 */
export function shifted(places: Numbers, now: number): number[] {
  const back = latest(places) - now;
  const next = [0, now];
  for (let index = heldAt(places, latest(places)).expired; index < countOf(places); index += 1) {
    next[TOTAL]! += unitsOf(places, index);
    next.push(places[at(index) + ID]!, endOf(places, index) - back, unitsOf(places, index));
  }
  return next;
}
