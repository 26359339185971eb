/**
 * The times of logs, as whole microseconds since 1970. One reader knows all spellings, and remembers the last day and zone it has seen: lines
 * that follow each other mostly share them, and then only the time of the day is read.
 *
 *     17/May/2015:10:05:03 +0000   17/May/2015:10:05:03.123   nginx, Apache, Traefik, HAProxy
 *     2015-05-17T10:05:03.123456Z  2015-05-17 10:05:03+02:00  ISO 8601
 *     2015/05/17 10:05:03.123                                 Caddy's wall clock
 *     1431857103.123  1431857103123  1431857103123456789      seconds, milliseconds, microseconds, nanoseconds, by their size
 */

/** A time without a zone, as HAProxy writes it, is taken to be UTC. */
const DAY = 86_400;
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';
/** From here on a number of so many digits before the point is no time of ours. */
const LAST_SECOND = 7_000_000_000;

const COMMA = 44;
const MINUS = 45;
const DOT = 46;
const SLASH = 47;
const ZERO = 48;
const NINE = 57;
const COLON = 58;

export class TimeReader {
  /** Whether any time had a fraction of a second that was not zero. */
  hasFractions = false;
  /** The day that was last read, in seconds, and its bytes. */
  readonly #dayBytes = new Uint8Array(11);
  #dayLength = 0;
  #day = 0;
  /** The zone that was last read, in seconds, and its bytes. */
  readonly #zoneBytes = new Uint8Array(8);
  #zoneLength = -1;
  #zone = 0;

  /** NaN when it is no time. */
  read(bytes: Uint8Array, start: number, end: number): number {
    const third = bytes[start + 2];
    if (end - start >= 19) {
      if (third === SLASH && bytes[start + 11] === COLON) return this.#readDayTime(bytes, start, 11, end);
      const fifth = bytes[start + 4];
      const isDay = fifth === MINUS || fifth === SLASH;
      if (isDay && bytes[start + 7] === fifth) return this.#readDayTime(bytes, start, 10, end);
    }
    return this.#readNumber(bytes, start, end);
  }

  /** A day and a time of the day that stand in two places. Both are UTC. */
  readParts(bytes: Uint8Array, day: number, dayEnd: number, time: number, timeEnd: number): number {
    if (dayEnd - day !== 10 || timeEnd - time < 8) return Number.NaN;
    return this.#timeOfDay(bytes, time, timeEnd) + this.#dayAt(bytes, day, 10) * 1e6;
  }

  #readDayTime(bytes: Uint8Array, start: number, length: number, end: number): number {
    const day = this.#dayAt(bytes, start, length);
    return day * 1e6 + this.#timeOfDay(bytes, start + length + 1, end);
  }

  /** Seconds until the day. */
  #dayAt(bytes: Uint8Array, start: number, length: number): number {
    const known = this.#dayBytes;
    if (length === this.#dayLength) {
      let same = length - 1;
      while (same >= 0 && known[same] === bytes[start + same]) same -= 1;
      if (same < 0) return this.#day;
    }
    this.#dayLength = length;
    for (let index = 0; index < length; index += 1) known[index] = bytes[start + index]!;
    this.#day = length === 11 ? namedDay(bytes, start) : numberedDay(bytes, start);
    return this.#day;
  }

  /** Microseconds of the day, less the zone. */
  #timeOfDay(bytes: Uint8Array, start: number, end: number): number {
    const hours = pair(bytes, start);
    const minutes = pair(bytes, start + 3);
    const seconds = pair(bytes, start + 6);
    const isTime = hours < 24 && minutes < 60 && seconds < 61 && bytes[start + 2] === COLON;
    if (!isTime || bytes[start + 5] !== COLON) return Number.NaN;
    let micros = (hours * 3600 + minutes * 60 + seconds) * 1e6;
    let at = start + 8;
    if (at < end && (bytes[at] === DOT || bytes[at] === COMMA)) {
      let unit = 100_000;
      for (at += 1; at < end && isDigit(bytes[at]!); at += 1, unit /= 10) {
        if (unit >= 1) micros += (bytes[at]! - ZERO) * unit;
      }
      if (micros % 1e6 !== 0) this.hasFractions = true;
    }
    return micros - this.#zoneAt(bytes, at, end) * 1e6;
  }

  #zoneAt(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length === 0) return 0;
    const known = this.#zoneBytes;
    if (length > known.length) return Number.NaN;
    if (length === this.#zoneLength) {
      let same = length - 1;
      while (same >= 0 && known[same] === bytes[start + same]) same -= 1;
      if (same < 0) return this.#zone;
    }
    this.#zoneLength = length;
    for (let index = 0; index < length; index += 1) known[index] = bytes[start + index]!;
    this.#zone = zoneOf(String.fromCharCode(...bytes.subarray(start, end)));
    return this.#zone;
  }

  #readNumber(bytes: Uint8Array, start: number, end: number): number {
    let whole = 0;
    let at = start;
    let digits = 0;
    let unit = 1;
    for (; at < end && isDigit(bytes[at]!); at += 1) {
      // Sixteen digits are microseconds; what comes after them is finer.
      if (digits < 16) whole = whole * 10 + bytes[at]! - ZERO;
      digits += 1;
    }
    if (digits === 0 || digits > 19 || end - start > 32) return Number.NaN;
    if (digits <= 10) unit = 1e6;
    else if (digits <= 13) unit = 1e3;
    let micros = whole * unit;
    if (at < end && bytes[at] === DOT) {
      for (at += 1, unit /= 10; at < end && isDigit(bytes[at]!); at += 1, unit /= 10) {
        if (unit >= 1) micros += Math.round((bytes[at]! - ZERO) * unit);
      }
    }
    // Between the sizes of today's milliseconds, microseconds and nanoseconds there is no time of ours.
    const isOdd = digits === 14 || digits === 15 || digits === 17 || digits === 18;
    if (at !== end || micros > LAST_SECOND * 1e6 || isOdd) return Number.NaN;
    if (micros % 1e6 !== 0) this.hasFractions = true;
    return micros;
  }
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

/** Two digits; 99 or more when they are none. */
function pair(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - ZERO;
  const ones = bytes[at + 1]! - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : 99;
}

function namedDay(bytes: Uint8Array, start: number): number {
  const [, day, month, year] = /^(\d\d)\/(\w{3})\/(\d{4})$/.exec(ascii(bytes, start, 11)) ?? [];
  const index = month === undefined ? -1 : MONTHS.indexOf(month);
  return index < 0 || index % 3 !== 0 ? Number.NaN : secondsOf(Number(year), index / 3, Number(day));
}

function numberedDay(bytes: Uint8Array, start: number): number {
  const [, year, month, day] = /^(\d{4})[-/](\d\d)[-/](\d\d)$/.exec(ascii(bytes, start, 10)) ?? [];
  return secondsOf(Number(year), Number(month) - 1, Number(day));
}

/** NaN for a day that no calendar has, and for years whose microseconds do not fit a number. */
function secondsOf(year: number, month: number, day: number): number {
  if (!(year >= 1970 && year < 2255)) return Number.NaN;
  const time = new Date(0).setUTCFullYear(year, month, day);
  return new Date(time).getUTCMonth() === month && day >= 1 ? Math.floor(time / 1e3 / DAY) * DAY : Number.NaN;
}

function ascii(bytes: Uint8Array, start: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(start, start + length));
}

/** Seconds east of Greenwich. */
function zoneOf(text: string): number {
  const zone = text.trim();
  if (/^(?:z|utc|gmt)?$/i.test(zone)) return 0;
  const [, sign, hours, minutes = '00'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  if (sign === undefined || Number(hours) > 18 || Number(minutes) > 59) return Number.NaN;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60);
}
