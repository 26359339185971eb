/** `sluice explain` of files for Envoy: which rule a descriptor is under, and why. */
import { expect, test } from 'vitest';
import { explainDescriptors } from '../../src/envoy/explain.ts';
import { askedOf } from './cases.ts';
import { envoyConfig } from './support.ts';

const { envoy } = envoyConfig(`
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: minute, requests_per_unit: 2, name: user } }
  - { key: user, value: vip, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 9, replaces: [{ name: user }] } }
  - key: path
    value: /a*
    share_threshold: true
    descriptors: [{ key: method, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 3, algorithm: gcra } }]
  - { key: staff, rate_limit: { unlimited: true } }
  - { key: banned, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: 't*', rate_limit: { unit: day, requests_per_unit: 1 } }
`);

const EXPLAINED: readonly (readonly [ask: string | readonly string[], ...lines: string[]])[] = [
  [
    'user=ann',
    'user=ann',
    '  user=ann: by the key alone',
    '  limited: fixed-window limit 2, window 1 min, align epoch, key "[\\"shop\\",\\"user\\",\\"ann\\"]"',
  ],
  [
    ['user=ann', 'user=vip'],
    'user=ann',
    '  user=ann: by the key alone',
    '  not limited: replaced by the rule of user=vip',
    'user=vip',
    '  user=vip: by key and value',
    '  limited: fixed-window limit 9, window 1 h, align epoch, key "[\\"shop\\",\\"user\\",\\"vip\\"]", shadow: it never denies',
  ],
  [
    'path=/abc,method=GET',
    'path=/abc,method=GET',
    '  path=/abc: by the wildcard /a*, which all that match share',
    '  method=GET: by the key alone',
    '  limited: gcra limit 3, period 1 d, capacity 3, key "[\\"shop\\",\\"path\\",[\\"path_/a*\\"],\\"method\\",\\"GET\\"]", a quota',
  ],
  [
    'path=/abc',
    'path=/abc',
    '  path=/abc: by the wildcard /a*, which all that match share',
    '  not limited: the file has no limit for exactly these entries',
  ],
  [
    'user=ann,path=/,method=GET',
    'user=ann,path=/,method=GET',
    '  user=ann: by the key alone',
    '  path=/: nothing in the file',
    '  not limited: the file has no limit for exactly these entries',
  ],
  ['staff=x', 'staff=x', '  staff=x: by the key alone', '  unlimited'],
  [
    'banned=x',
    'banned=x',
    '  banned=x: by the key alone',
    '  limited: nothing at all, key "[\\"shop\\",\\"banned\\",\\"x\\"]"',
  ],
  [
    'tenant=x',
    'tenant=x',
    '  tenant=x: by the wildcard t*',
    '  limited: fixed-window limit 1, window 1 d, align epoch, key "[\\"shop\\",\\"tenant\\",\\"x\\"]"',
  ],
];

test.each(EXPLAINED)('%j', (ask, ...lines) => {
  const { text } = explainDescriptors(envoy!, 'shop', askedOf({ ask, expect: '' }).descriptors as never);
  expect(text.split('\n')).toEqual(lines);
});

test('a domain that is not there', () => {
  expect(explainDescriptors(envoy!, 'other', [])).toEqual({
    ...{ domain: 'other', descriptors: undefined },
    text: 'Not limited: there is no domain "other"; there are: shop',
  });
});

test('the same as data, for programs', () => {
  const { descriptors } = askedOf({ ask: ['user=ann', 'user=vip', 'staff=x'], expect: '' });
  const explained = explainDescriptors(envoy!, 'shop', descriptors as never);
  expect(explained.descriptors).toEqual([
    {
      descriptor: 'user=ann',
      steps: [{ entry: 'user=ann', found: 'by the key alone' }],
      outcome: { outcome: 'not-limited', because: 'replaced by the rule of user=vip' },
    },
    {
      descriptor: 'user=vip',
      steps: [{ entry: 'user=vip', found: 'by key and value' }],
      outcome: {
        ...{ outcome: 'limited', key: '["shop","user","vip"]', requestsPerUnit: 9, shadow: true, quota: false },
        policy: expect.objectContaining({ algorithm: 'fixed-window', limit: 9, window: 3_600_000 }),
      },
    },
    {
      descriptor: 'staff=x',
      steps: [{ entry: 'staff=x', found: 'by the key alone' }],
      outcome: { outcome: 'unlimited' },
    },
  ]);
});
