/**
 * What the Envoy service answers, as rows: at this moment, asked this, expect that. A descriptor is written `key=value,key=value`, with `x0` behind
 * it for hits of its own, `x-2` for hits that are given back, and `!3/HOUR` for a limit that comes along. An answer is the overall code, and behind it for each descriptor its
 * code, what remains of which limit, and the time until it is reset; `-` where nothing is limited.
 */
import type { EnvoySettings } from '../../src/envoy/settings.ts';
import type { Asked, AskedDescriptor, Reply } from './support.ts';

export interface Step {
  /** Seconds since the beginning. Default: where the step before was. */
  readonly at?: number;
  readonly ask: string | readonly string[];
  readonly hits?: number;
  readonly domain?: string;
  readonly expect: string;
  readonly times?: number;
}

export interface Case {
  readonly why: string;
  readonly yaml: string;
  readonly settings?: Partial<EnvoySettings>;
  readonly steps: readonly Step[];
}

const SHOP = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: user
    value: vip
    rate_limit: { unit: hour, requests_per_unit: 100 }
  - key: path
    value: /health
  - key: path
    descriptors:
      - key: method
        value: POST
        rate_limit: { unit: second, requests_per_unit: 3 }
`;

const units = ['second', 'Minute', 'HOUR', 'day', 'week', 'month', 'year'];
const RESETS = [1, 40, 2800, 6400, 92_800, 352_000, 2_944_000];

export const CASES: readonly Case[] = [
  {
    why: 'counts down within the minute, denies, and begins anew with the next',
    yaml: SHOP,
    steps: [
      { ask: 'user=ann', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'user=ann', at: 10, expect: 'OK: OK 0/2 MINUTE 30s' },
      { ask: 'user=ann', at: 39.5, expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 1s' },
      { ask: 'user=bob', expect: 'OK: OK 1/2 MINUTE 1s' },
      { ask: 'user=ann', at: 40, expect: 'OK: OK 1/2 MINUTE 60s' },
    ],
  },
  ...units.map((unit, index) => ({
    why: `the unit ${unit}`,
    yaml: `domain: d\ndescriptors: [{ key: k, rate_limit: { unit: ${unit}, requests_per_unit: 9 } }]`,
    steps: [{ domain: 'd', ask: 'k=v', expect: `OK: OK 8/9 ${unit.toUpperCase()} ${RESETS[index]}s` }],
  })),
  {
    why: 'key and value come before the key alone',
    yaml: SHOP,
    steps: [
      { ask: 'user=vip', expect: 'OK: OK 99/100 HOUR 2800s' },
      { ask: 'user=', expect: 'OK: OK 1/2 MINUTE 40s' },
    ],
  },
  {
    why: 'a rule holds only for the last entry: deeper or shallower than the file is not limited',
    yaml: SHOP,
    steps: [
      { ask: 'user=ann,path=/', expect: 'OK: OK -' },
      { ask: 'path=/', expect: 'OK: OK -' },
      { ask: 'path=/,method=POST', expect: 'OK: OK 2/3 SECOND 1s' },
      { ask: 'path=/,method=GET', expect: 'OK: OK -' },
      { ask: 'method=POST,path=/', expect: 'OK: OK -' },
      { ask: 'path=/health,method=POST', expect: 'OK: OK -' },
      { ask: 'other=x', expect: 'OK: OK -' },
    ],
  },
  {
    why: 'an unknown domain limits nothing, not even by a limit that comes along',
    yaml: SHOP,
    steps: [{ domain: 'nowhere', ask: ['user=ann', 'user=ann !1/HOUR'], hits: 9, expect: 'OK: OK -; OK -' }],
  },
  {
    why: 'wildcards: at the end, in the middle, several; in the order of the file, after what is exact and before the key alone',
    yaml: `
domain: shop
descriptors:
  - { key: path, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: path, value: /a*, rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: path, value: /ab*, rate_limit: { unit: day, requests_per_unit: 3 } }
  - { key: path, value: /x/*/y, rate_limit: { unit: day, requests_per_unit: 4 } }
  - { key: path, value: '/p*q*r*s', rate_limit: { unit: day, requests_per_unit: 5 } }
  - { key: path, value: /abc, rate_limit: { unit: day, requests_per_unit: 6 } }
  - { key: 'tenant_*', rate_limit: { unit: day, requests_per_unit: 7 } }
`,
    steps: [
      { ask: 'path=/abc', expect: 'OK: OK 5/6 DAY 6400s' },
      { ask: 'path=/abd', expect: 'OK: OK 1/2 DAY 6400s' },
      { ask: 'path=/a', expect: 'OK: OK 1/2 DAY 6400s' },
      { ask: 'path=/x/1/y', expect: 'OK: OK 3/4 DAY 6400s' },
      { ask: 'path=/x//y', expect: 'OK: OK 3/4 DAY 6400s' },
      { ask: 'path=/x/y', expect: 'OK: OK 0/1 DAY 6400s' },
      { ask: 'path=/p.q.r.s', expect: 'OK: OK 4/5 DAY 6400s' },
      { ask: 'path=/pqrs', expect: 'OK: OK 4/5 DAY 6400s' },
      { ask: 'path=/p.r.q.s', expect: 'OK: OK 0/1 DAY 6400s' },
      { ask: 'path=/pqrsx', expect: 'OK: OK 0/1 DAY 6400s' },
      { ask: 'tenant_1=x', expect: 'OK: OK 6/7 DAY 6400s' },
      { ask: 'tenant=1', expect: 'OK: OK 6/7 DAY 6400s' },
    ],
  },
  {
    why: 'values under a wildcard count each by itself, or all together with share_threshold, at any depth',
    yaml: `
domain: shop
descriptors:
  - { key: own, value: a*, rate_limit: { unit: minute, requests_per_unit: 2 } }
  - { key: all, value: a*, share_threshold: true, rate_limit: { unit: minute, requests_per_unit: 2 } }
  - key: deep
    value: a*
    share_threshold: true
    descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 2 } }]
`,
    steps: [
      { ask: 'own=a1', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'own=a2', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'all=a1', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'all=a2', expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: 'all=a*', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'own=a*', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'deep=a1,user=x', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'deep=a2,user=x', expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: 'deep=a2,user=y', expect: 'OK: OK 1/2 MINUTE 40s' },
    ],
  },
  {
    why: 'no two different descriptors share a state',
    yaml: `
domain: a
descriptors:
  - key: b
    rate_limit: { unit: minute, requests_per_unit: 5 }
    descriptors: [{ key: c, rate_limit: { unit: minute, requests_per_unit: 5 } }]
  - { key: b_c, rate_limit: { unit: minute, requests_per_unit: 5 } }
`,
    steps: [
      { domain: 'a', ask: 'b=c_d', expect: 'OK: OK 4/5 MINUTE 40s' },
      { domain: 'a', ask: 'b_c=d', expect: 'OK: OK 4/5 MINUTE 40s' },
      { domain: 'a', ask: 'b=,c=d', expect: 'OK: OK 4/5 MINUTE 40s' },
      { domain: 'a', ask: 'b=_c_d', expect: 'OK: OK 4/5 MINUTE 40s' },
      { domain: 'a', ask: 'b=","c","d', expect: 'OK: OK 4/5 MINUTE 40s' },
    ],
  },
  {
    why: 'replaces: the limits that a matched one replaces do not hold in that request',
    yaml: `
domain: shop
descriptors:
  - { key: all, rate_limit: { name: all, unit: minute, requests_per_unit: 1 } }
  - { key: user, rate_limit: { name: user, unit: minute, requests_per_unit: 5, replaces: [{ name: all }] } }
  - { key: staff, rate_limit: { unlimited: true, replaces: [{ name: all }, { name: user }] } }
`,
    steps: [
      { ask: ['all=', 'user=ann'], expect: 'OK: OK -; OK 4/5 MINUTE 40s "user"' },
      { ask: ['all=', 'user=ann'], expect: 'OK: OK -; OK 3/5 MINUTE 40s "user"' },
      { ask: ['all=', 'user=ann', 'staff=x'], expect: 'OK: OK -; OK -; OK unlimited' },
      { ask: 'all=', expect: 'OK: OK 0/1 MINUTE 40s "all"' },
      { ask: 'all=', expect: 'OVER_LIMIT: OVER_LIMIT 0/1 MINUTE 40s "all"' },
    ],
  },
  {
    why: 'hits: those of the descriptor come before those of the request, of which 0 means 1',
    yaml: SHOP,
    steps: [
      { ask: 'user=vip', hits: 0, expect: 'OK: OK 99/100 HOUR 2800s' },
      { ask: 'user=vip', hits: 10, expect: 'OK: OK 89/100 HOUR 2800s' },
      { ask: 'user=vip x4', hits: 10, expect: 'OK: OK 85/100 HOUR 2800s' },
      { ask: ['user=vip x5', 'user=ann'], hits: 2, expect: 'OK: OK 80/100 HOUR 2800s; OK 0/2 MINUTE 40s' },
      { ask: 'user=vip x81', expect: 'OVER_LIMIT: OVER_LIMIT 0/100 HOUR 2800s' },
      { ask: 'user=vip x80', expect: 'OK: OK 0/100 HOUR 2800s' },
      { ask: 'user=bob x18446744073709551615', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
    ],
  },
  {
    why: 'hits_addend 0 on a descriptor looks: OK with nothing remaining at exactly the limit',
    yaml: SHOP,
    steps: [
      { ask: 'user=ann x0', expect: 'OK: OK 2/2 MINUTE 40s' },
      { ask: 'user=ann', hits: 2, expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: 'user=ann x0', times: 3, expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: 'user=ann', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'user=ann x0', expect: 'OK: OK 0/2 MINUTE 40s' },
    ],
  },
  {
    why: 'requests_per_unit 0 denies every real hit, and is seen by a look',
    yaml: `domain: shop\ndescriptors: [{ key: banned, rate_limit: { unit: hour, requests_per_unit: 0 } }, { key: user, rate_limit: { unit: hour, requests_per_unit: 3 } }]`,
    steps: [
      { ask: 'banned=x', expect: 'OVER_LIMIT: OVER_LIMIT 0/0 HOUR 2800s' },
      { ask: 'banned=x x0', expect: 'OK: OK 0/0 HOUR 2800s' },
      { ask: ['user=ann', 'banned=x'], expect: 'OVER_LIMIT: OK 3/3 HOUR 2800s; OVER_LIMIT 0/0 HOUR 2800s' },
    ],
  },
  {
    why: 'unlimited: no limit is named, and everything remains',
    yaml: `domain: shop\ndescriptors: [{ key: staff, rate_limit: { unlimited: true } }]`,
    steps: [{ ask: 'staff=x', hits: 4_000_000_000, times: 2, expect: 'OK: OK unlimited' }],
  },
  {
    why: 'a limit that comes along is taken in place of the file, with the same state',
    yaml: `domain: shop\ndescriptors: [{ key: user, shadow_mode: true, rate_limit: { name: n, unit: hour, requests_per_unit: 2 } }]`,
    steps: [
      { ask: 'user=ann', expect: 'OK: OK 1/2 HOUR 2800s "n"' },
      { ask: 'user=ann !5/HOUR', expect: 'OK: OK 3/5 HOUR 2800s' },
      { ask: 'user=ann !2/HOUR', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 HOUR 2800s' },
      { ask: 'user=ann !2/MONTH', expect: 'OK: OK 1/2 MONTH 352000s' },
      { ask: 'unknown=x !7/YEAR', expect: 'OK: OK 6/7 YEAR 2944000s' },
      {
        ask: ['user=bob', 'user=bob !2/HOUR', 'user=bob'],
        expect: 'OK: OK 0/2 HOUR 2800s "n"; OK 1/2 HOUR 2800s; OK 0/2 HOUR 2800s "n"',
      },
    ],
  },
  {
    why: 'a denied request costs nothing, whichever of its descriptors denies it',
    yaml: SHOP,
    steps: [
      { ask: 'user=ann', hits: 2, expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: ['user=vip', 'user=ann'], expect: 'OVER_LIMIT: OK 100/100 HOUR 2800s; OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'user=vip', expect: 'OK: OK 99/100 HOUR 2800s' },
      { ask: 'user=bob', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'user=bob', hits: 2, times: 3, expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'user=bob', expect: 'OK: OK 0/2 MINUTE 40s' },
    ],
  },
  {
    why: 'the same descriptor twice counts twice, or not at all',
    yaml: SHOP,
    steps: [
      { ask: ['user=ann', 'user=ann'], expect: 'OK: OK 1/2 MINUTE 40s; OK 0/2 MINUTE 40s' },
      { ask: 'user=bob', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: ['user=bob', 'user=bob'], expect: 'OVER_LIMIT: OK 0/2 MINUTE 40s; OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'user=bob', expect: 'OK: OK 0/2 MINUTE 40s' },
    ],
  },
  {
    why: 'denied requests that spend, as with the reference server: each descriptor counts, beyond its limit',
    yaml: SHOP,
    settings: { denied: 'spend' },
    steps: [
      { ask: ['user=vip', 'user=ann'], hits: 3, expect: 'OVER_LIMIT: OK 97/100 HOUR 2800s; OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'user=ann x0', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'user=ann !9/MINUTE', expect: 'OK: OK 5/9 MINUTE 40s' },
      {
        ask: ['user=bob', 'user=bob', 'user=bob'],
        expect: 'OVER_LIMIT: OK 1/2 MINUTE 40s; OK 0/2 MINUTE 40s; OVER_LIMIT 0/2 MINUTE 40s',
      },
      { ask: 'user=ann', at: 40, expect: 'OK: OK 1/2 MINUTE 60s' },
    ],
  },
  {
    why: 'denied requests that spend take what is left of a bucket',
    yaml: `domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: token-bucket, capacity: 5 } }]`,
    settings: { denied: 'spend' },
    steps: [
      { ask: 'user=ann', hits: 6, expect: 'OVER_LIMIT: OVER_LIMIT 0/60 MINUTE 0s' },
      { ask: 'user=ann', expect: 'OVER_LIMIT: OVER_LIMIT 0/60 MINUTE 1s' },
    ],
  },
  {
    why: 'shadow_mode: what is over is told as OK, others are enforced, and nothing of a denied request is counted',
    yaml: `
domain: shop
descriptors:
  - { key: trial, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: user, rate_limit: { unit: minute, requests_per_unit: 2 } }
`,
    steps: [
      { ask: 'trial=x', expect: 'OK: OK 0/1 MINUTE 40s' },
      { ask: 'trial=x', times: 2, expect: 'OK: OK 0/1 MINUTE 40s' },
      { ask: ['trial=x', 'user=ann'], expect: 'OK: OK 0/1 MINUTE 40s; OK 1/2 MINUTE 40s' },
      { ask: ['trial=y', 'user=ann'], hits: 2, expect: 'OVER_LIMIT: OK 0/1 MINUTE 40s; OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'trial=y', expect: 'OK: OK 0/1 MINUTE 40s' },
    ],
  },
  {
    why: 'SHADOW_MODE: the overall code alone is turned to OK',
    yaml: SHOP,
    settings: { shadowMode: true },
    steps: [
      { ask: 'user=ann', hits: 2, expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: 'user=ann', expect: 'OK: OVER_LIMIT 0/2 MINUTE 40s' },
    ],
  },
  {
    why: 'quota_mode: over only when all quotas are, or something that is none',
    yaml: `
domain: shop
descriptors:
  - { key: day, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: month, quota_mode: true, rate_limit: { unit: month, requests_per_unit: 2 } }
  - { key: free, quota_mode: true, rate_limit: { unlimited: true } }
  - { key: user, rate_limit: { unit: minute, requests_per_unit: 3 } }
`,
    steps: [
      { ask: ['day=x', 'month=x', 'user=x'], expect: 'OK: OK 0/1 DAY 6400s; OK 1/2 MONTH 352000s; OK 2/3 MINUTE 40s' },
      {
        ask: ['day=x', 'month=x', 'user=x'],
        expect: 'OK: OVER_LIMIT 0/1 DAY 6400s; OK 0/2 MONTH 352000s; OK 1/3 MINUTE 40s',
      },
      {
        ask: ['day=x', 'month=x', 'user=x'],
        expect: 'OVER_LIMIT: OVER_LIMIT 0/1 DAY 6400s; OVER_LIMIT 0/2 MONTH 352000s; OK 0/3 MINUTE 40s',
      },
      { ask: 'user=x', expect: 'OK: OK 0/3 MINUTE 40s' },
      { ask: ['day=x', 'free=x'], expect: 'OVER_LIMIT: OVER_LIMIT 0/1 DAY 6400s; OK unlimited' },
      { ask: ['day=x', 'other=x'], expect: 'OVER_LIMIT: OVER_LIMIT 0/1 DAY 6400s; OK -' },
      { ask: ['day=y', 'user=x'], expect: 'OVER_LIMIT: OK 1/1 DAY 6400s; OVER_LIMIT 0/3 MINUTE 40s' },
      { ask: 'day=x', expect: 'OVER_LIMIT: OVER_LIMIT 0/1 DAY 6400s' },
    ],
  },
  {
    why: 'QUOTA_MODE: every descriptor is one of quota, also one that no rule is for, which is never over',
    yaml: SHOP,
    settings: { quotaMode: true },
    steps: [
      { ask: 'user=ann', hits: 2, expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: ['user=ann', 'user=vip'], expect: 'OK: OVER_LIMIT 0/2 MINUTE 40s; OK 99/100 HOUR 2800s' },
      { ask: ['user=ann', 'other=x'], expect: 'OK: OVER_LIMIT 0/2 MINUTE 40s; OK -' },
      { ask: 'user=ann', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
    ],
  },
  {
    why: 'hits that are given back: never above the limit, never charged, and always OK',
    yaml: SHOP,
    steps: [
      { ask: 'user=vip x60', expect: 'OK: OK 40/100 HOUR 2800s' },
      { ask: 'user=vip x-20', expect: 'OK: OK 60/100 HOUR 2800s' },
      { ask: 'user=vip x-', expect: 'OK: OK 61/100 HOUR 2800s' },
      { ask: 'user=vip x-', hits: 9, expect: 'OK: OK 70/100 HOUR 2800s' },
      { ask: 'user=vip x-0', expect: 'OK: OK 70/100 HOUR 2800s' },
      { ask: 'user=vip x-1000', expect: 'OK: OK 100/100 HOUR 2800s' },
      { ask: 'user=vip x-4294967295', expect: 'OK: OK 100/100 HOUR 2800s', times: 3 },
      { ask: 'user=vip', expect: 'OK: OK 99/100 HOUR 2800s' },
      { ask: 'user=nobody x-5', expect: 'OK: OK 2/2 MINUTE 40s' },
      { ask: 'other=x x-5', expect: 'OK: OK -' },
      { ask: 'user=vip x-1', at: 2800, expect: 'OK: OK 100/100 HOUR 3600s' },
    ],
  },
  {
    why: 'hits that are given back make room at once, also in the request that brings them',
    yaml: SHOP,
    steps: [
      { ask: 'user=ann x2', expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: 'user=ann', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s', times: 3 },
      { ask: 'user=ann x-1', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'user=ann', expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: 'user=ann', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: ['user=ann', 'user=ann x-2'], expect: 'OK: OK 1/2 MINUTE 40s; OK 2/2 MINUTE 40s' },
      { ask: ['user=ann x2', 'user=bob x-2'], expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s; OK 2/2 MINUTE 40s' },
    ],
  },
  {
    why: 'hits that are given back where denied requests spend: out of what is above the limit first',
    yaml: SHOP,
    settings: { denied: 'spend' },
    steps: [
      { ask: 'user=ann x5', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'user=ann x-2', expect: 'OK: OK 0/2 MINUTE 40s' },
      { ask: 'user=ann x0', expect: 'OVER_LIMIT: OVER_LIMIT 0/2 MINUTE 40s' },
      { ask: 'user=ann x-2', expect: 'OK: OK 1/2 MINUTE 40s' },
      { ask: 'user=ann', expect: 'OK: OK 0/2 MINUTE 40s' },
    ],
  },
  {
    why: 'hits that are given back under every algorithm, in shadow and in quota',
    yaml: `
domain: shop
descriptors:
  - { key: bucket, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: token-bucket, capacity: 3 } }
  - { key: leaky, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: leaky-bucket, burst: 3 } }
  - { key: gcra, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: gcra, capacity: 3 } }
  - { key: sliding, rate_limit: { unit: minute, requests_per_unit: 3, algorithm: sliding-window-log } }
  - { key: counter, rate_limit: { unit: minute, requests_per_unit: 3, algorithm: sliding-window-counter } }
  - { key: shadow, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: quota, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: never, rate_limit: { unit: minute, requests_per_unit: 0 } }
  - { key: free, rate_limit: { unlimited: true } }
`,
    steps: [
      ...['bucket', 'leaky', 'gcra'].flatMap((key) => [
        { ask: `${key}=x x3`, expect: 'OK: OK 0/60 MINUTE 3s' },
        { ask: `${key}=x x-2`, expect: 'OK: OK 2/60 MINUTE 1s' },
        { ask: `${key}=x x-9`, expect: 'OK: OK 3/60 MINUTE 0s' },
        { ask: `${key}=x x-9`, expect: 'OK: OK 3/60 MINUTE 0s' },
        { ask: `${key}=x x3`, expect: 'OK: OK 0/60 MINUTE 3s' },
        { ask: `${key}=x`, expect: 'OVER_LIMIT: OVER_LIMIT 0/60 MINUTE 1s' },
      ]),
      { ask: 'sliding=x x3', expect: 'OK: OK 0/3 MINUTE 60s' },
      { ask: 'sliding=x x-9', expect: 'OK: OK 3/3 MINUTE 0s' },
      { ask: 'counter=x x3', expect: 'OK: OK 0/3 MINUTE 81s' },
      { ask: 'counter=x x-9', expect: 'OK: OK 3/3 MINUTE 0s' },
      { ask: 'shadow=x x3', expect: 'OK: OK 0/3 MINUTE 40s' },
      { ask: 'shadow=x x-2', expect: 'OK: OK 2/3 MINUTE 40s' },
      { ask: 'quota=x x3', expect: 'OK: OK 0/3 MINUTE 40s' },
      { ask: 'quota=x x-2', expect: 'OK: OK 2/3 MINUTE 40s' },
      { ask: 'never=x x-2', expect: 'OK: OK 0/0 MINUTE 40s' },
      { ask: 'free=x x-2', expect: 'OK: OK unlimited' },
    ],
  },
  {
    why: 'an algorithm, a capacity and a period of one`s own',
    yaml: `
domain: shop
descriptors:
  - { key: bucket, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: token-bucket, capacity: 3 } }
  - { key: leaky, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: leaky-bucket, burst: 2 } }
  - { key: gcra, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: gcra } }
  - { key: sliding, rate_limit: { unit: minute, requests_per_unit: 2, algorithm: sliding-window-log } }
  - { key: counter, rate_limit: { unit: minute, requests_per_unit: 2, algorithm: sliding-window-counter } }
  - { key: period, rate_limit: { period: 90s, requests_per_unit: 2 } }
  - { key: hour, rate_limit: { period: 1h, requests_per_unit: 2 } }
  - { key: two, rate_limit: { unit: minute, unit_multiplier: 2, requests_per_unit: 2 } }
`,
    steps: [
      { ask: 'bucket=x', hits: 3, expect: 'OK: OK 0/60 MINUTE 3s' },
      { ask: 'bucket=x', expect: 'OVER_LIMIT: OVER_LIMIT 0/60 MINUTE 1s' },
      { ask: 'leaky=x', hits: 2, expect: 'OK: OK 0/60 MINUTE 2s' },
      { ask: 'gcra=x', hits: 59, expect: 'OK: OK 1/60 MINUTE 59s' },
      { ask: 'sliding=x', expect: 'OK: OK 1/2 MINUTE 60s' },
      { ask: 'counter=x', hits: 2, expect: 'OK: OK 0/2 MINUTE 71s' },
      { ask: 'period=x', expect: 'OK: OK 1/2 - 10s' },
      { ask: 'hour=x', expect: 'OK: OK 1/2 HOUR 2800s' },
      { ask: 'two=x', expect: 'OK: OK 1/2 - 40s' },
      { ask: 'bucket=x', at: 1, expect: 'OK: OK 0/60 MINUTE 3s' },
      { ask: 'sliding=x x0', at: 40, expect: 'OK: OK 1/2 MINUTE 20s' },
    ],
  },
];

export function askedOf({ domain = 'shop', ask, hits }: Step): Asked {
  const list = typeof ask === 'string' ? [ask] : ask;
  return { domain, descriptors: list.map(descriptorOf), ...(hits === undefined ? {} : { hitsAddend: hits }) };
}

function descriptorOf(text: string): AskedDescriptor {
  const [entries = '', ...more] = text.split(' ');
  const hits = more.find((part) => part.startsWith('x'))?.slice(1);
  const [requests, unit] =
    more
      .find((part) => part.startsWith('!'))
      ?.slice(1)
      .split('/') ?? [];
  return {
    entries: entries.split(/,(?=\w+=)/).map((entry) => {
      const mark = entry.indexOf('=');
      return { key: entry.slice(0, mark), value: entry.slice(mark + 1) };
    }),
    ...(hits === undefined || hits === '-'
      ? {}
      : { hitsAddend: { value: hits.replace('-', '') as unknown as number } }),
    ...(hits?.startsWith('-') ? { isNegativeHits: true } : {}),
    ...(unit === undefined ? {} : { limit: { requestsPerUnit: Number(requests), unit } }),
  };
}

/** An answer in the notation of the rows. */
export function answerText({ overallCode, statuses }: Reply): string {
  return `${overallCode}: ${statuses.map(statusText).join('; ')}`;
}

function statusText({ code, currentLimit, limitRemaining = 0, durationUntilReset, ...rest }: Reply): string {
  if (Object.keys(rest).length > 0) throw new Error(`unexpected ${JSON.stringify(rest)}`);
  if (currentLimit === undefined) {
    return `${code} ${limitRemaining === 4_294_967_295 ? 'unlimited' : limitRemaining === 0 ? '-' : limitRemaining}`;
  }
  const { requestsPerUnit = 0, unit = '-', name } = currentLimit;
  const named = name === undefined ? '' : ` "${name}"`;
  return `${code} ${limitRemaining}/${requestsPerUnit} ${unit} ${durationUntilReset}${named}`;
}
