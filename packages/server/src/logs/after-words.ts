/** Lines that something else has written words before: syslog, a container runtime, a virtual host. */
import { byIp } from 'sluice/http';
import type { LineFormat, LineReader } from './line-format.ts';
import { bad } from './text-lines.ts';

const SPACE = 32;

/** A format whose lines begin after so many words. */
export function afterWords(words: number, format: LineFormat): LineFormat {
  if (words === 0) return format;
  const about = `${format.about}, after ${words === 1 ? 'another word' : `${words} other words`}`;
  return { ...format, about, reader: (wanted) => skipping(words, format.reader(wanted)) };
}

function skipping(words: number, reader: LineReader): LineReader {
  const read: LineReader['read'] = (bytes, start, end, spans) => {
    let at = start;
    for (let word = 0; word < words; word += 1) {
      while (at < end && bytes[at] !== SPACE) at += 1;
      while (at < end && bytes[at] === SPACE) at += 1;
    }
    if (at === end && start < end) return bad(spans, 'is cut off, or not of this format');
    return reader.read(bytes, at, end, spans);
  };
  return { dateField: reader.dateField, read };
}

const clientOf = byIp({ trustedProxies: 0 });

function isAddress(word: string): boolean {
  const ip = word.replace(/,$/, '');
  return clientOf({ method: 'GET', path: '/', ip, header: () => undefined }) !== undefined;
}

/**
 * How many words most of the lines have before the first address, of those before a bracket. 0 when that is no answer: a server that looks names
 * up writes a name in place of the address.
 */
export function wordsBefore(lines: readonly string[]): number {
  const votes = new Map<number, number>();
  for (const line of lines) {
    const index = line.slice(0, line.indexOf('[')).split(/ +/).findIndex(isAddress);
    votes.set(index, (votes.get(index) ?? 0) + 1);
  }
  const [best = [0, 0]] = [...votes].sort(([, one], [, other]) => other - one);
  return best[0] > 0 && best[1] * 2 > lines.length ? best[0] : 0;
}
