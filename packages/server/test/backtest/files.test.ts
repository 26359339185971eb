/** Files as they lie about: packed in other ways, cut off, empty, huge lines, folders with more than logs in them, parts for workers. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fixedWindow } from 'sluice';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { backtest } from '../../src/log-files/backtest.ts';
import { FileRanges } from '../../src/log-files/file-ranges.ts';
import { MOST_LINE_BYTES } from '../../src/logs/request-reader.ts';
import { run } from '../run.ts';
import { randomFrom } from './oracle.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

const line = (second: number, ip = '10.0.0.1', path = '/'): string =>
  `${ip} - - [17/May/2015:10:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')} +0000] "GET ${path} HTTP/1.1" 200 12 "-" "curl"`;
const lines = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `${line(from + index)}\n`).join('');
const options = { policies: [fixedWindow({ limit: 1, window: '1h' })] };
const file = (name: string, data: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, data);
  return path;
};

describe('what is packed', () => {
  test('several members of gzip, one after the other, are one log', async () => {
    const path = file('members.gz', Buffer.concat([gzipSync(lines(0, 5)), gzipSync(lines(5, 5))]));
    expect((await backtest([path], options)).requests).toBe(10);
  });

  test('what is cut off counts up to there, and that is said', async () => {
    const packed = gzipSync(
      Array.from({ length: 2000 }, (_, index) => line(index % 3000, `10.0.${index % 251}.1`)).join('\n'),
    );
    const report = await backtest([file('cut.gz', packed.subarray(0, packed.length / 2))], options);
    expect(report.requests).toBeGreaterThan(100);
    expect(report.requests).toBeLessThan(2000);
    expect(report.notes).toEqual([expect.stringMatching(/cut\.gz: it cannot be unpacked to its end .* counts\.$/)]);
  });

  test.each([
    ['x.bz2', [0x42, 0x5a, 0x68, 0x39], 'packed with bzip2, and only gzip is read. Convert it on the way: bzip2 -dc'],
    ['x.xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0], 'xz -dc'],
    ['x.zst', [0x28, 0xb5, 0x2f, 0xfd], 'zstd -dc'],
    ['x.zip', [0x50, 0x4b, 3, 4], 'unzip -p'],
    ['x.csv', [0xff, 0xfe, 0x74, 0], 'it is UTF-16, and only UTF-8 is read. Convert it on the way: iconv'],
  ])('%s', async (name, bytes, message) => {
    const { code, error } = await run([
      'backtest',
      file(name, Uint8Array.from(bytes)),
      '--policy',
      'fixed-window limit=1 window=1h',
    ]);
    expect([code, error]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('what is hardly a log', () => {
  test.each([
    ['empty', ''],
    ['only line ends', '\n\n\r\n'],
  ])('%s: no requests, and that is said', async (name, data) => {
    const { code, out } = await run([
      'backtest',
      file(`${name}.log`, data),
      '--policy',
      'fixed-window limit=1 window=1h',
    ]);
    expect(code).toBe(0);
    expect(out).toMatch(/it is empty\.\n\nNo requests\./);
  });

  test('blank lines before and between, a mark of UTF-8, a first line that is too long', async () => {
    const data = `\uFEFF${line(0, '10.0.0.1', `/${'a'.repeat(MOST_LINE_BYTES)}`)}\n\n\n${lines(1, 3)}\r\n`;
    const { requests, lines: counts } = await backtest([file('odd.log', data)], options);
    expect([requests, counts]).toEqual([3, { lines: 7, skipped: 3, bad: 1, late: 0 }]);
  });

  test('a folder: what is no log in it is left out, and that is said', async () => {
    const logs = join(folder, 'var-log');
    mkdirSync(logs);
    writeFileSync(join(logs, 'access.log'), lines(0, 4));
    writeFileSync(join(logs, 'access.log.1.gz'), gzipSync(lines(0, 4)));
    writeFileSync(join(logs, 'error.log'), '2015/05/17 10:05:03 [error] 1234#0: *1 open() failed\n');
    writeFileSync(join(logs, 'old.log'), '');
    const { requests, notes } = await backtest([logs], options);
    expect(requests).toBe(8);
    expect(notes).toEqual([
      expect.stringMatching(/error\.log was left out: the format is not known\.$/),
      expect.stringMatching(/old\.log: it is empty/),
    ]);
    await expect(backtest([join(logs, 'error.log')], options)).rejects.toThrow(/the format is not known/);
  });

  test('a folder without any log is a mistake', async () => {
    const logs = join(folder, 'no-logs');
    mkdirSync(logs);
    writeFileSync(join(logs, 'error.log'), 'nothing of this is a log\n');
    await expect(backtest([logs], options)).rejects.toThrow(/none of the files is a log that can be read/);
  });
});

test('many files of a folder, of which each is read when its time has come: nothing is late', async () => {
  const logs = join(folder, 'many');
  mkdirSync(logs);
  // The names say nothing about the order.
  for (let index = 0; index < 50; index += 1) {
    writeFileSync(
      join(logs, `${(index * 37) % 50}-${index}.log`),
      Array.from({ length: 40 }, (_, each) => line(index * 50 + each, '10.0.0.9')).join('\n'),
    );
  }
  const report = await backtest([logs], { ...options, window: 1000 });
  expect([report.requests, report.lines.late, report.policies[0]!.allowed]).toEqual([2000, 0, 1]);
});

describe('parts of a file', () => {
  let path = '';
  let text = '';
  beforeAll(() => {
    const random = randomFrom(5);
    text = Array.from({ length: 3000 }, () => 'x'.repeat(Math.floor(random() ** 6 * 4000))).join('\n');
    path = file('parts.txt', text);
  });

  test.each([1, 2, 7, 100, 4096, 70_000, 10_000_000])('of %i bytes have every line once', (size) => {
    const ranges = new FileRanges(path);
    const parts: string[] = [];
    for (let start = 0; start < text.length; start += size === 1 ? 997 : size) {
      // Parts of one byte would be many: only some of them, and what is between.
      if (size === 1) {
        parts.push(Buffer.from(ranges.read(start, Math.min(start + 1, text.length))).toString());
        parts.push(Buffer.from(ranges.read(start + 1, Math.min(start + 997, text.length))).toString());
      } else parts.push(Buffer.from(ranges.read(start, Math.min(start + size, text.length))).toString());
    }
    expect(parts.join('')).toBe(text);
  });

  test('a line that is too long is handed on once, long enough to be seen as too long', () => {
    const long = file('long.txt', `a\n${'b'.repeat(3 * MOST_LINE_BYTES)}\nc\n`);
    const ranges = new FileRanges(long);
    const parts: string[] = [];
    for (let start = 0; start < 3 * MOST_LINE_BYTES + 5; start += 500_000) {
      parts.push(Buffer.from(ranges.read(start, Math.min(start + 500_000, 3 * MOST_LINE_BYTES + 5))).toString());
    }
    const all = parts.filter((part) => part !== '');
    expect(all.length).toBe(2);
    expect([all[0]!.startsWith('a\nb'), all[1]]).toEqual([true, 'c\n']);
    expect(all[0]!.length).toBeGreaterThan(MOST_LINE_BYTES);
  });
});
