/**
 * Lines that somebody broke: none of them ends the run, and all are counted. `SLUICE_FUZZ_LINES=500000 npx vitest run backtest/fuzz` takes more of them.
 */
import { expect, test } from 'vitest';
import { bytesOf } from '../../src/logs/line-format.ts';
import { parseKeyPlan } from '../../src/logs/log-keys.ts';
import { formatOf } from '../../src/logs/recognize.ts';
import { RequestReader } from '../../src/logs/request-reader.ts';
import { TABLES } from './formats.ts';
import { randomFrom } from './oracle.ts';

const LINES = Number(process.env.SLUICE_FUZZ_LINES ?? 30_000);
const NEWLINE = 10;

/** A line with some bytes changed, cut out, doubled, or taken from another. */
function broken(random: () => number, lines: readonly Uint8Array[]): Uint8Array {
  const pick = (): Uint8Array => lines[Math.floor(random() * lines.length)]!;
  let line = Uint8Array.from(pick());
  for (let change = Math.floor(random() * 4); change > 0; change -= 1) {
    const at = Math.floor(random() * (line.length + 1));
    const length = Math.floor(random() ** 3 * 40);
    const kind = random();
    if (kind < 0.4 && line.length > 0) line[Math.min(at, line.length - 1)] = Math.floor(random() * 256);
    else if (kind < 0.6) line = Uint8Array.from([...line.subarray(0, at), ...line.subarray(at + length)]);
    else if (kind < 0.8)
      line = Uint8Array.from([...line.subarray(0, at), ...pick().subarray(0, length), ...line.subarray(at)]);
    else line = line.slice(0, at);
  }
  return line.map((byte) => (byte === NEWLINE ? 32 : byte));
}

test.each(TABLES)('$format', ({ format: name, head = [], rows }) => {
  const random = randomFrom(name.length * 7919);
  const format = formatOf(head, { format: name });
  const lines = rows.map(([, line]) => bytesOf(line)).filter(({ length }) => length < 5000);
  const plans = ['ip', 'ip + route', 'user | ip'].filter(
    (key) => key !== 'user | ip' || /json|caddy|traefik|combined/.test(name),
  );
  const readers = plans.map((key) => new RequestReader({ format, key: parseKeyPlan(key), routes: true, lines: true }));
  const wanted = Math.ceil(LINES / TABLES.length);
  for (let done = 0; done < wanted; ) {
    const batch = Math.min(500, wanted - done);
    const all: number[] = [];
    for (let each = 0; each < batch; each += 1) all.push(...broken(random, lines), NEWLINE);
    const bytes = Uint8Array.from(all);
    for (const reader of readers) reader.read(bytes);
    done += batch;
  }
  for (const { counts, rows: read, badLines } of readers) {
    expect(counts.lines).toBe(wanted);
    expect(counts.skipped + counts.bad + read.count).toBe(wanted);
    expect(read.times.subarray(0, read.count).every((time) => Number.isSafeInteger(time) && time > 0)).toBe(true);
    expect(counts.bad === 0 || badLines.every(({ reason }) => reason !== '')).toBe(true);
  }
});
