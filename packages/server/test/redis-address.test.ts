/** Where Redis is, in one text. */
import { expect, test } from 'vitest';
import { addressText, parseRedisAddress } from '../src/service/redis-address.ts';

test.each<[text: string, kind: string, nodes: string, more: object, shown: string]>([
  ['redis://localhost', 'single', 'localhost:6379', {}, 'redis://localhost:6379'],
  ['redis://10.0.0.1:7000/', 'single', '10.0.0.1:7000', {}, 'redis://10.0.0.1:7000'],
  ['redis://:p%40ss@h:1/3', 'single', 'h:1', { password: 'p@ss', database: 3 }, 'redis://h:1/3'],
  ['rediss://ann:a:b@h', 'single', 'h:6379', { username: 'ann', password: 'a:b', tls: true }, 'rediss://h:6379'],
  ['redis://ann@h', 'single', 'h:6379', { username: 'ann', password: undefined }, 'redis://h:6379'],
  ['redis://[::1]:7000', 'single', '::1:7000', {}, 'redis://[::1]:7000'],
  [
    'redis+cluster://a:1,b,[fe80::1]:3',
    'cluster',
    'a:1 b:6379 fe80::1:3',
    {},
    'redis+cluster://a:1,b:6379,[fe80::1]:3',
  ],
  ['rediss+cluster://u:p@a:1', 'cluster', 'a:1', { tls: true, username: 'u', password: 'p' }, 'rediss+cluster://a:1'],
  ['redis+sentinel://a,b:2/main', 'sentinel', 'a:26379 b:2', { master: 'main' }, 'redis+sentinel://a:26379,b:2/main'],
  [
    'redis+sentinel://:p@a/m/2',
    'sentinel',
    'a:26379',
    { master: 'm', database: 2, password: 'p' },
    'redis+sentinel://a:26379/m/2',
  ],
])('%s', (text, kind, nodes, more, shown) => {
  const address = parseRedisAddress(text);
  expect(address).toMatchObject({ kind, tls: false, ...more });
  expect(address.nodes.map(({ host, port }) => `${host}:${port}`).join(' ')).toBe(nodes);
  expect(addressText(address)).toBe(shown);
});

test.each([
  ['', 'expected redis://host:6379'],
  ['localhost:6379', 'expected redis://host:6379'],
  ['http://localhost', 'expected redis://host:6379'],
  ['redis+ring://a', 'expected redis://host:6379'],
  ['redis://h?db=1', 'expected redis://host:6379'],
  ['redis://a,b', 'expected one host; several are redis+cluster://'],
  ['redis://h:99999', 'expected host:port, got "h:99999"'],
  ['redis+cluster://a,,b', 'expected host:port, got ""'],
  ['redis://h/x', 'expected the number of a database'],
  ['redis+cluster://a/1', 'expected no database'],
  ['redis+sentinel://a', 'expected the name of the master'],
  ['redis://:secret%@h', 'expected %25 for every %'],
])('%s is refused', (text, message) => {
  expect(() => parseRedisAddress(text)).toThrow(message);
  try {
    parseRedisAddress(text);
  } catch (error) {
    expect(String(error)).not.toContain('secret');
  }
});
