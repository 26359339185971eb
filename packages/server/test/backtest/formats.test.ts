/** Every format is recognised from its first lines, and reads hard lines as the tables say. */
import { describe, expect, test } from 'vitest';
import { bytesOf, fieldText, LINE, type LineFormat, Spans } from '../../src/logs/line-format.ts';
import { addressName, parseKeyPlan } from '../../src/logs/log-keys.ts';
import { formatOf } from '../../src/logs/recognize.ts';
import { RequestReader } from '../../src/logs/request-reader.ts';
import { TimeReader } from '../../src/logs/times.ts';
import { type Fields, TABLES } from './formats.ts';

const WANTED = ['time', 'ip', 'method', 'path'];

function read(format: LineFormat, line: string): Fields | { readonly bad: string } | 'nothing' {
  const bytes = bytesOf(line);
  const reader = format.reader(WANTED);
  const spans = new Spans(WANTED.length + 1);
  spans.clear();
  const kind = reader.read(bytes, 0, bytes.length, spans);
  if (kind === LINE.nothing) return 'nothing';
  if (kind === LINE.bad) return { bad: spans.problem };
  const times = new TimeReader();
  const { at } = spans;
  const time =
    at[0]! < 0
      ? Number.NaN
      : reader.dateField < 0
        ? times.read(bytes, at[0]!, at[1]!)
        : times.readParts(bytes, at[reader.dateField * 2]!, at[reader.dateField * 2 + 1]!, at[0]!, at[1]!);
  if (Number.isNaN(time)) return { bad: 'no time' };
  const [, ip, method, path] = WANTED.map((_, field) => fieldText(bytes, spans, field) ?? null);
  const second = new Date(Math.floor(time / 1e6) * 1e3).toISOString().slice(0, 19);
  const address = ip !== null && format.hasLooseAddresses && ip!.includes(',') ? addressName(ip!) : ip!;
  return [`${second}.${String(time % 1e6).padStart(6, '0')}Z`, address, method!, path!];
}

describe.each(TABLES)('$format', ({ format: name, head = [], rows, recognised = name }) => {
  const format = formatOf(head, { format: name });

  test('has ten hard lines or more', () => expect(rows.length).toBeGreaterThanOrEqual(10));

  test.each(rows)('%s', (_, line, wanted) => {
    const got = read(format, line);
    if (typeof wanted === 'object' && 'bad' in wanted)
      expect(got).toEqual({ bad: expect.stringContaining(wanted.bad) });
    else expect(got).toEqual(wanted);
  });

  test.skipIf(recognised === 'none')('is recognised from its first lines', () => {
    const lines = rows.map(([, line]) => line).filter((line) => line.length < 5000);
    expect(formatOf([...head, ...lines]).name).toBe(recognised);
    expect(formatOf([...head, lines[0]!]).name).toBe(recognised);
  });

  test('every line is counted, whatever it holds', () => {
    const reader = new RequestReader({ format, key: parseKeyPlan('ip'), routes: true, lines: false });
    reader.read(bytesOf(rows.map(([, line]) => line).join('\r\n')));
    const { lines, skipped, bad } = reader.counts;
    expect([lines, skipped + bad + reader.rows.count]).toEqual([rows.length, rows.length]);
    const silent = rows.filter(([, , wanted]) => Array.isArray(wanted) && wanted[1] === null).length;
    expect(bad).toBe(rows.filter(([, , wanted]) => typeof wanted === 'object' && 'bad' in wanted).length + silent);
  });
});

describe('what is not recognised', () => {
  test.each([
    ['nothing', [], /the log is empty/],
    ['prose', ['Once upon a time', 'there was a log'], /the format is not known.*Once upon a time.*--format/s],
    ['JSON without a time', ['{"a":1,"who":"x"}'], /its time was not found.*--field time=NAME.*It has a, who/s],
  ])('%s', (_, lines, message) => {
    expect(() => formatOf(lines)).toThrow(message);
  });

  test.each([
    ['a name that is none', { format: 'nginx2' }, /there is no format "nginx2".*combined/],
    ['a setting without a time', { format: '$remote_addr $status' }, /no time/],
    ['two variables without anything between', { format: '$remote_addr$time_local' }, /nothing between/],
  ])('%s', (_, options, message) => {
    expect(() => formatOf(['x'], options)).toThrow(message);
  });

  test('a field that the format does not have', () => {
    const format = formatOf([], { format: 'common' });
    expect(() => format.reader(['time', 'colour'])).toThrow(/no field "colour". It has ip, h/);
  });
});

describe('keys', () => {
  const idsOf = (key: string, lines: readonly string[]): string[] => {
    const format = formatOf(lines);
    const reader = new RequestReader({ format, key: parseKeyPlan(key), routes: false, lines: false });
    reader.read(bytesOf(lines.join('\n')));
    return [...reader.rows.clients.subarray(0, reader.rows.count)].map((id) => reader.tables.clients.textOf(id));
  };
  const json = (...requests: readonly object[]): string[] =>
    requests.map((request) => JSON.stringify({ time: '2015-05-17T10:05:03Z', ...request }));

  test('addresses of one /64 are one client, however they are written', () => {
    const ids = idsOf(
      'ip',
      json(
        { ip: '2001:db8::1' },
        { ip: '2001:DB8:0:0::2' },
        { ip: '[2001:db8::3]:443' },
        { ip: '10.0.0.1:80' },
        { ip: '::ffff:10.0.0.1' },
      ),
    );
    expect(ids).toEqual(['2001:db8::/64', '2001:db8::/64', '2001:db8::/64', '10.0.0.1', '10.0.0.1']);
  });

  test.each([
    ['user | ip', ['ann', '10.0.0.2']],
    ['ip + route', ['10.0.0.1 + /a', '10.0.0.2 + /b']],
    ['everyone', ['everyone', 'everyone']],
    ['field:nested.team', ['"red"', 'blue']],
  ])('%s', (key, wanted) => {
    const lines = json(
      { ip: '10.0.0.1', user: 'ann', path: '/a?x=1', nested: { team: '"red"' } },
      { ip: '10.0.0.2', path: '/b', nested: { team: 'blue' } },
    );
    expect(idsOf(key, lines)).toEqual(wanted);
  });

  test('a part that is none', () => expect(() => parseKeyPlan('ip + colour')).toThrow(/expected a key of ip, user/));
});
