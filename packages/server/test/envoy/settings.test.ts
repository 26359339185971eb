/** The reference server's environment variables, and what they mean here. */
import { describe, expect, test } from 'vitest';
import { DEFAULT_SETTINGS, type EnvoySettings, mergesDomains, readSettings } from '../../src/envoy/settings.ts';

type Environment = Readonly<Record<string, string>>;

const HEADERS = { limit: 'RateLimit-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' };

const SETTINGS: readonly (readonly [environment: Environment, settings: Partial<EnvoySettings>])[] = [
  [{}, {}],
  [{ SHADOW_MODE: '', NEAR_LIMIT_RATIO: '', SLUICE_ENVOY_DENIED: '' }, {}],
  [
    { SHADOW_MODE: 'true', QUOTA_MODE: '1' },
    { shadowMode: true, quotaMode: true },
  ],
  [{ SHADOW_MODE: 'False', QUOTA_MODE: '0' }, {}],
  [{ LIMIT_RESPONSE_HEADERS_ENABLED: 'true' }, { headers: HEADERS }],
  [{ LIMIT_LIMIT_HEADER: 'X-Limit' }, {}],
  [
    {
      LIMIT_RESPONSE_HEADERS_ENABLED: 'T',
      LIMIT_LIMIT_HEADER: 'X-L',
      LIMIT_REMAINING_HEADER: 'X-R',
      LIMIT_RESET_HEADER: 'X-T',
    },
    { headers: { limit: 'X-L', remaining: 'X-R', reset: 'X-T' } },
  ],
  [{ LIMIT_REQUEST_HEADERS_ENABLED: 'true', LIMIT_LIMIT_HEADER: 'X-L' }, { requestHeaders: HEADERS }],
  [
    {
      LIMIT_REQUEST_HEADERS_ENABLED: '1',
      LIMIT_REQUEST_LIMIT_HEADER: 'X-L',
      LIMIT_REQUEST_REMAINING_HEADER: 'X-R',
      LIMIT_REQUEST_RESET_HEADER: 'X-T',
    },
    { requestHeaders: { limit: 'X-L', remaining: 'X-R', reset: 'X-T' } },
  ],
  [{ RESPONSE_DYNAMIC_METADATA: 'true' }, { dynamicMetadata: true }],
  [{ NEAR_LIMIT_RATIO: '0.5' }, { nearLimitRatio: 0.5 }],
  [{ HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true' }, { needsConfig: true }],
  [{ SLUICE_ENVOY_DENIED: 'spend' }, { denied: 'spend' }],
];

test.each(SETTINGS)('%j', (environment, settings) => {
  expect(readSettings(environment)).toEqual({ ...DEFAULT_SETTINGS, ...settings });
});

describe('what is wrong names the variable', () => {
  test.each<readonly [Environment, string]>([
    [{ QUOTA_MODE: 'yes' }, 'QUOTA_MODE: expected true or false, got "yes"'],
    [{ NEAR_LIMIT_RATIO: '0' }, 'NEAR_LIMIT_RATIO: expected a number above 0 and up to 1, got "0"'],
    [{ SLUICE_ENVOY_DENIED: 'no' }, 'SLUICE_ENVOY_DENIED: expected free or spend, got "no"'],
    [
      { LIMIT_RESPONSE_HEADERS_ENABLED: 'true', LIMIT_RESET_HEADER: 'a b' },
      'LIMIT_RESET_HEADER: expected the name of a header, got "a b"',
    ],
    [
      { LIMIT_REQUEST_HEADERS_ENABLED: 'true', LIMIT_REQUEST_RESET_HEADER: '', LIMIT_REQUEST_LIMIT_HEADER: 'a:' },
      'LIMIT_REQUEST_LIMIT_HEADER: expected the name of a header, got "a:"',
    ],
  ])('%j', (environment, message) => {
    expect(() => readSettings(environment)).toThrow(message);
  });
});

test('MERGE_DOMAIN_CONFIG', () => {
  expect([{}, { MERGE_DOMAIN_CONFIG: 'true' }, { MERGE_DOMAIN_CONFIG: 'false' }].map(mergesDomains)).toEqual([
    ...[false, true, false],
  ]);
});
