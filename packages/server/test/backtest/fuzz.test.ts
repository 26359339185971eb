/** Half a million lines that somebody broke: none of them ends the run, and all are counted. */
import { expect, test } from 'vitest';
import { bytesOf } from '../../src/logs/line-format.ts';
import { parseKeyPlan } from '../../src/logs/log-keys.ts';
import { formatOf } from '../../src/logs/recognize.ts';
import { RequestReader } from '../../src/logs/request-reader.ts';
import { TABLES } from './formats.ts';
import { randomFrom } from './oracle.ts';

const LINES = 500_000;
const BATCH_BYTES = 1 << 20;
/** What is put into a line, at most. */
const MOST_ADDED = 40;
const NEWLINE = 10;

/** Writes a line with some bytes changed, cut out, doubled, or taken from another. Answers where it ends. */
function writeBroken(random: () => number, lines: readonly Uint8Array[], out: Uint8Array, start: number): number {
  const pick = (): Uint8Array => lines[Math.floor(random() * lines.length)]!;
  const line = pick();
  out.set(line, start);
  let end = start + line.length;
  for (let change = Math.floor(random() * 4); change > 0; change -= 1) {
    const at = start + Math.floor(random() * (end - start + 1));
    const length = Math.floor(random() ** 3 * MOST_ADDED);
    const kind = random();
    if (kind < 0.4 && end > start) out[Math.min(at, end - 1)] = Math.floor(random() * 256);
    else if (kind < 0.6) {
      const cut = Math.min(length, end - at);
      out.copyWithin(at, at + cut, end);
      end -= cut;
    } else if (kind < 0.8) {
      const added = pick().subarray(0, length);
      out.copyWithin(at + added.length, at, end);
      out.set(added, at);
      end += added.length;
    } else end = at;
  }
  for (let at = start; at < end; at += 1) if (out[at] === NEWLINE) out[at] = 32;
  out[end] = NEWLINE;
  return end + 1;
}

test.each(TABLES)('$format', ({ format: name, head = [], rows }) => {
  const random = randomFrom(name.length * 7919);
  const format = formatOf(head, { format: name });
  const lines = rows.map(([, line]) => bytesOf(line)).filter(({ length }) => length < 5000);
  const plans = ['ip', 'ip + route', 'user | ip'].filter(
    (key) => key !== 'user | ip' || /json|caddy|traefik|combined/.test(name),
  );
  const readers = plans.map((key) => new RequestReader({ format, key: parseKeyPlan(key), routes: true, lines: false }));
  const wanted = Math.ceil(LINES / TABLES.length);
  const bytes = new Uint8Array(BATCH_BYTES);
  const longest = Math.max(...lines.map(({ length }) => length)) + 3 * MOST_ADDED + 1;
  let end = 0;
  for (let done = 1; done <= wanted; done += 1) {
    end = writeBroken(random, lines, bytes, end);
    if (done < wanted && end + longest < BATCH_BYTES) continue;
    for (const reader of readers) reader.read(bytes, end);
    end = 0;
  }
  for (const { counts, rows: read, badLines } of readers) {
    expect(counts.lines).toBe(wanted);
    expect(counts.skipped + counts.bad + read.count).toBe(wanted);
    expect(read.times.subarray(0, read.count).every((time) => Number.isSafeInteger(time) && time > 0)).toBe(true);
    expect(counts.bad === 0 || badLines.every(({ reason }) => reason !== '')).toBe(true);
  }
});
