/**
 * HAProxy's log of HTTP, with or without what syslog writes before it:
 *
 *     Feb  6 12:14:14 host haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"
 */
import { FormatError, LINE, type LineReader, type Spans } from './line-format.ts';
import { bad, beforePort, quoteEnd } from './text-lines.ts';

const SPACE = 32;
const QUOTE = 34;
const SLASH = 47;
const OPEN = 91;
const CLOSE = 93;

/** Words after the time: frontend, backend/server, timers, status. */
const TIMERS = 2;
const STATUS = 3;

const FIELDS = ['time', 'ip', 'method', 'path', 'status', 'duration'];

export function haproxyReader(wanted: readonly string[]): LineReader {
  const unknown = wanted.find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) {
    throw new FormatError(`the log of HAProxy has no field ${JSON.stringify(unknown)}. It has ${FIELDS.join(', ')}.`);
  }
  const [time, ip, method, path, status, duration] = FIELDS.map((name) => wanted.indexOf(name));
  const read: LineReader['read'] = (bytes, start, end, spans) => {
    if (start === end) return LINE.nothing;
    const open = timeAt(bytes, start, end);
    if (open < 0) return bad(spans, 'has no time in brackets after an address');
    const close = bytes.indexOf(CLOSE, open);
    const from = wordBefore(bytes, start, open - 1);
    if (close < 0 || close > end || from < 0) return bad(spans, 'is cut off, or not of HAProxy');
    if (time! >= 0) spans.set(time!, open + 1, close);
    if (ip! >= 0) spans.set(ip!, from, beforePort(bytes, from, open - 1));
    if (status! >= 0 || duration! >= 0) words(bytes, close + 2, end, status!, duration!, spans);
    if (method! >= 0 || path! >= 0) request(bytes, close, end, method!, path!, spans);
    return LINE.request;
  };
  return { dateField: -1, read };
}

/** The bracket before a day such as `06/Feb/`. */
function timeAt(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start + 1; at < end - 8; at += 1) {
    if (bytes[at] === OPEN && bytes[at + 3] === SLASH && bytes[at + 7] === SLASH) return at;
  }
  return -1;
}

/** Where the word begins that ends there; -1 when there is none. */
function wordBefore(bytes: Uint8Array, start: number, end: number): number {
  if (end <= start || bytes[end] !== SPACE) return -1;
  let at = end - 1;
  while (at >= start && bytes[at] !== SPACE) at -= 1;
  return at + 1 === end ? -1 : at + 1;
}

function words(bytes: Uint8Array, from: number, end: number, status: number, duration: number, spans: Spans): void {
  let at = from;
  for (let word = 0; word <= STATUS; word += 1) {
    let stop = at;
    while (stop < end && bytes[stop] !== SPACE) stop += 1;
    if (word === STATUS && status >= 0 && stop > at) spans.set(status, at, stop);
    if (word === TIMERS && duration >= 0) {
      let slash = stop - 1;
      while (slash > at && bytes[slash] !== SLASH) slash -= 1;
      if (slash > at) spans.set(duration, slash + 1, stop);
    }
    at = stop + 1;
  }
}

/** Between the last quotes of the line. A request that could not be read is `<BADREQ>`, and has no path. */
function request(bytes: Uint8Array, from: number, end: number, method: number, path: number, spans: Spans): void {
  const open = bytes.indexOf(QUOTE, from);
  if (open < 0 || open >= end) return;
  const close = quoteEnd(bytes, open + 1, end);
  const stop = close < 0 ? end : close;
  let space = open + 1;
  while (space < stop && bytes[space] !== SPACE) space += 1;
  if (space >= stop) return;
  if (method >= 0) spans.set(method, open + 1, space);
  let last = space + 1;
  while (last < stop && bytes[last] !== SPACE) last += 1;
  if (path >= 0 && last > space + 1) spans.set(path, space + 1, last);
}
