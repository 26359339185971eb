/** Windows of the clock, and times as whole microseconds, as the library counts. */

/** By whole microseconds: a tenth of a second has no exact double. */
export function windowNumber(time: number, size: number): number {
  return Math.floor(Math.round(time * 1000) / Math.round(size * 1000));
}

/** How much of the window of the clock that a time lies in is over, from 0 to 1. */
export function windowShare(time: number, size: number): number {
  return time / size - windowNumber(time, size);
}

/** The library's seconds are whole microseconds, and so are all times of the lab. */
export function milliseconds(seconds: number): number {
  return wholeMicroseconds(seconds * 1000);
}

export function wholeMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
