/** The HTTP side: every status of /json, the health check, the dump of the config, headers, metadata, and what Prometheus reads. */
import { request } from 'node:http';
import { memoryStore } from 'sluice';
import { afterEach, describe, expect, test } from 'vitest';
import { startService } from '../support.ts';
import { type EnvoyService, startEnvoy } from './support.ts';

const YAML = `
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: minute, requests_per_unit: 10 }, metadata: { owner: { team: core }, tags: [a] } }
  - { key: user, value: vip, rate_limit: { unit: hour, requests_per_unit: 20 }, metadata: { owner: { since: 2020 }, tags: [b] } }
  - { key: trial, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: day, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1 }, metadata: {} }
  - { key: route, value_to_metric: true, descriptors: [{ key: to, value: a*, rate_limit: { unit: day, requests_per_unit: 9 } }] }
  - { key: exact, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 9 } }
  - { key: staff, rate_limit: { unlimited: true }, metadata: { owner: { team: none }, staff: true } }
  - { key: file, value: f/*, share_threshold: true, value_to_metric: true, descriptors: [{ key: to, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 9 } }, { key: from, rate_limit: { unit: day, requests_per_unit: 9 } }] }
`;

let service: EnvoyService;
afterEach(() => service.stop());

const entry = (key: string, value = 'x') => ({ entries: [{ key, value }] });
const asked = (...keys: string[]) => ({ domain: 'shop', descriptors: keys.map((key) => entry(key)) });
const BAD_REQUEST = [400, 'text/plain; charset=utf-8', 'Bad Request\n'];

describe('/json', () => {
  test.each([
    '',
    '}',
    '[]',
    'null',
    '7',
    '{"domain":"shop","descriptors":[],"extra":1}',
    '{"domain":1}',
    '{"domain":"shop"}',
    '{"domain":"","descriptors":[{"entries":[{"key":"user","value":"x"}]}]}',
    '{"domain":"shop","descriptors":{}}',
    '{"domain":"shop","descriptors":[{"entries":[{"key":"user","values":"x"}]}]}',
    '{"domain":"shop","descriptors":[{"entries":[{"key":"user","value":5}]}]}',
    '{"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"\\ud800"}]}]}',
    '{"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":-1}',
    '{"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":"many"}',
    '{"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":4294967296}',
    '{"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":1,"hits_addend":1}',
    '{"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":null,"hits_addend":1}',
    '{"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":"03"}',
    '{"domain":"shop","domain":"shop","descriptors":[{"entries":[]}]}',
    '{"domain":"shop","descriptors":[{"entries":[{"key":"user","k\\u0065y":"user"}]}]}',
    '{"domain":"shop","descriptors":[{"entries":[],"limit":{"unit":"WEEK"}}]}',
    '{"domain":"shop","descriptors":[{"entries":[],"limit":{"requestsPerUnit":1}}]}',
    '{"domain":"shop","descriptors":[{"entries":[],"hitsAddend":{"value":1}}]}',
  ])('%s is a bad request', async (body) => {
    service = await startEnvoy(YAML);
    const { status, headers, text } = await service.post('/json', body);
    expect([status, headers.get('content-type'), text]).toEqual(BAD_REQUEST);
  });

  test('OK is 200 and OVER_LIMIT is 429, as JSON without what is zero', async () => {
    service = await startEnvoy(YAML);
    const ok = await service.post('/json', { ...asked('user'), hitsAddend: 9 });
    expect([ok.status, ok.headers.get('content-type')]).toEqual([200, 'application/json']);
    const currentLimit = { requestsPerUnit: 10, unit: 'MINUTE' };
    expect(ok.body).toEqual({
      overallCode: 'OK',
      statuses: [{ code: 'OK', currentLimit, limitRemaining: 1, durationUntilReset: '40s' }],
    });
    const over = await service.post('/json', { ...asked('user'), hitsAddend: 2 });
    expect([over.status, over.headers.get('content-type')]).toEqual([429, 'application/json']);
    expect(over.body).toEqual({
      overallCode: 'OVER_LIMIT',
      statuses: [{ code: 'OVER_LIMIT', currentLimit, durationUntilReset: '40s' }],
    });
  });

  test.each([
    '{"domain":"shop","descriptors":[{"entries":[{"key":"domain","value":"domain"},{"key":"{","value":"\\"a\\":1,\\"a\\":"}]}]}',
    '{"domain":"shop","descriptors":[{"entries":[]},{"entries":[]}],"hitsAddend":"1e1"}',
    ' {"domain" : "shop", "descriptors" :[{}],"hitsAddend" : 3.0} ',
  ])('%s is none', async (body) => {
    service = await startEnvoy(YAML);
    expect((await service.post('/json', body)).status).toBe(200);
  });

  test('snake_case, texts for numbers, numbers for units and null for nothing are understood', async () => {
    service = await startEnvoy(YAML);
    const body = {
      domain: 'shop',
      hits_addend: '3',
      descriptors: [
        { ...entry('user'), limit: null, hits_addend: null },
        { ...entry('other'), limit: { requests_per_unit: '5', unit: 3 }, hitsAddend: '2' },
      ],
    };
    const { statuses } = (await service.post('/json', body)).body;
    expect(statuses).toMatchObject([
      { limitRemaining: 7 },
      { limitRemaining: 3, currentLimit: { requestsPerUnit: 5, unit: 'HOUR' } },
    ]);
  });

  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('%s will do', async (method) => {
    service = await startEnvoy(YAML);
    const body = JSON.stringify(asked('user'));
    const status = await new Promise((resolve, reject) => {
      const sent = request({ port: service.port, path: '/json', method, headers: { 'Content-Length': body.length } });
      sent.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
      sent.end(body);
    });
    expect(status).toBe(200);
  });

  test('a store that fails is a bad request, in the log and in the metrics; without a domain too', async () => {
    const fail = () => Promise.reject(new Error('ECONNREFUSED'));
    service = await startEnvoy(YAML, { store: () => ({ ask: fail }) });
    const { status, headers, text } = await service.post('/json', asked('user'));
    expect([status, headers.get('content-type'), text]).toEqual(BAD_REQUEST);
    expect(service.logs).toMatchObject([{ level: 'error', status: 503, cause: 'Error: ECONNREFUSED' }]);
    service.service.limits.replace({ policies: new Map(), rules: [], trustedProxies: 0 });
    expect((await service.post('/json', asked('user'))).status).toBe(400);
    const { text: metrics } = await service.get('/metrics');
    expect(metrics).toContain('ratelimit_service_should_rate_limit_error{err_type="redis_error"} 1\n');
    expect(metrics).toContain('ratelimit_service_should_rate_limit_error{err_type="service_error"} 1\n');
  });
});

describe('headers', () => {
  const named = { limit: 'X-Limit', remaining: 'X-Left', reset: 'X-Reset' };
  const HEADERS: readonly (readonly [
    why: string,
    asked: readonly string[],
    hits: number,
    values: readonly string[],
  ])[] = [
    ['the least remaining', ['user', 'day'], 1, ['1', '0', '6400']],
    ['the first of several with as much', ['trial', 'day'], 1, ['1', '0', '40']],
    ['one that denies before a quota', ['day', 'user'], 11, ['10', '0', '40']],
    ['the last that denies', ['user', 'vip'], 21, ['20', '0', '2800']],
    ['none where nothing is limited', ['other'], 1, []],
  ];

  describe.each(['grpc', 'json'] as const)('over %s', (transport) => {
    test.each(HEADERS)('are those of %s', async (_, keys, hits, values) => {
      service = await startEnvoy(YAML, { settings: { headers: named } });
      const descriptors = keys.map((key) => (key === 'vip' ? entry('user', 'vip') : entry(key)));
      const { responseHeadersToAdd = [] } = await service[transport]({ domain: 'shop', descriptors, hitsAddend: hits });
      expect(responseHeadersToAdd).toEqual(values.map((value, index) => ({ key: Object.values(named)[index], value })));
    });

    test.each([
      [undefined, [], ['X-Limit', 'X-Left', 'X-Reset']],
      [{ limit: 'A', remaining: 'B', reset: 'C' }, ['A', 'B', 'C'], ['X-Limit', 'X-Left', 'X-Reset']],
    ])(
      'go to the request that is passed on, with those of the response: %j',
      async (headers, ofResponse, ofRequest) => {
        service = await startEnvoy(YAML, { settings: { headers, requestHeaders: named } });
        const { responseHeadersToAdd = [], requestHeadersToAdd } = await service[transport](asked('user'));
        const keys = (list: readonly { readonly key: string }[]) => list.map(({ key }) => key);
        expect([keys(responseHeadersToAdd), keys(requestHeadersToAdd)]).toEqual([ofResponse, ofRequest]);
        expect(requestHeadersToAdd[1]).toEqual({ key: 'X-Left', value: '9' });
      },
    );
  });
});

test('dynamic metadata say what was asked, and what the rules that passed have to say', async () => {
  service = await startEnvoy(YAML, { settings: { dynamicMetadata: true } });
  const vip = { ...entry('user', 'vip'), hitsAddend: { value: 0 } };
  const override = { ...entry('other'), limit: { requestsPerUnit: 5, unit: 'HOUR' } };
  const none = { ...entry('other', 'y'), limit: { requestsPerUnit: 0, unit: 'HOUR' }, hitsAddend: { value: 0 } };
  const question = { domain: 'shop', hitsAddend: 2, descriptors: [entry('staff'), entry('user'), vip, override, none] };
  const expected = {
    domain: 'shop',
    hitsAddend: 2,
    descriptors: [
      { entries: ['staff=x'] },
      { entries: ['user=x'] },
      { entries: ['user=vip'], hitsAddend: 0 },
      { entries: ['other=x'], limit: 'requests_per_unit:5 unit:HOUR' },
      { entries: ['other=y'], limit: 'unit:HOUR', hitsAddend: 0 },
    ],
    // Of what both say, the first stays.
    metadata: { owner: { team: 'core', since: 2020 }, tags: ['a'] },
  };
  for (const transport of ['grpc', 'json'] as const) {
    expect((await service[transport](question)).dynamicMetadata).toEqual(expected);
  }
  const { dynamicMetadata: bare } = await service.json({ domain: 'shop', descriptors: [entry('day')] });
  expect(bare).toEqual({ domain: 'shop', descriptors: [{ entries: ['day=x'] }] });
  const over = await service.json({ domain: 'shop', hitsAddend: 50, descriptors: [entry('user'), vip] });
  expect(over.dynamicMetadata.metadata).toEqual({ owner: { since: 2020 }, tags: ['b'] });
});

describe('what Prometheus reads', () => {
  const counts = async (labels: string): Promise<Record<string, number>> => {
    const { text } = await service.get('/metrics');
    const lines = [...text.matchAll(/^ratelimit_service_rate_limit_(\w+)\{(.*)\} (\d+)$/gm)];
    return Object.fromEntries(
      lines.filter(([, , of]) => of === labels).map(([, name, , value]) => [name, Number(value)]),
    );
  };

  /** Hits one after another on a limit of 10, of which 8 is near; what each adds to over, near and within. */
  const ROWS: readonly (readonly [hits: readonly number[], over: number, near: number, within: number])[] = [
    [[8], 0, 0, 8],
    [[9], 0, 1, 9],
    [[8, 2], 0, 2, 10],
    [[5, 5], 0, 2, 10],
    [[10, 1], 1, 2, 10],
    [[10, 3, 1], 4, 2, 10],
    [[5, 8], 3, 2, 5],
    [[9, 5], 4, 2, 9],
    [[12], 2, 2, 0],
  ];
  test.each(ROWS)('after hits of %j: over %i, near %i, within %i', async (hits, over, near, within) => {
    service = await startEnvoy(YAML);
    for (const hitsAddend of hits) await service.grpc({ ...asked('user'), hitsAddend });
    expect(await counts('domain="shop",key1="user"')).toEqual({
      total_hits: hits.reduce((sum, next) => sum + next),
      ...{ over_limit: over, near_limit: near, within_limit: within, shadow_mode: 0, over_limit_with_local_cache: 0 },
      total_negative_hits: 0,
    });
  });

  test('a rule in the shadow, a domain that is not there, and the whole service in the shadow', async () => {
    service = await startEnvoy(YAML, { settings: { shadowMode: true } });
    await service.json({ ...asked('trial'), hitsAddend: 3 });
    await service.json({ ...asked('user'), hitsAddend: 11 });
    await service.json({ ...asked('user'), domain: 'nowhere "\n' });
    expect(await counts('domain="shop",key1="trial"')).toMatchObject({ total_hits: 3, over_limit: 2, shadow_mode: 3 });
    const { text } = await service.get('/metrics');
    expect(text).toContain('ratelimit_service_global_shadow_mode 1\n');
    expect(text).toContain('ratelimit_service_domain_not_found 1\n');
    expect(text).toContain('ratelimit_service_total_requests{grpc_method="ShouldRateLimit"} 3\n');
    expect(text).toContain('sluice_decisions_total{policy="envoy",outcome="denied"} 2\n');
    expect(text).not.toMatch(/nowhere|inline/);
  });

  /** What was asked for, and what it is named. */
  const NAMES: readonly (readonly [entries: readonly (readonly [string, string])[], labels: string])[] = [
    [[['user', 'ann']], 'key1="user"'],
    [[['user', 'vip']], 'key1="user_vip"'],
    [
      [
        ['route', '/a'],
        ['to', 'ab'],
      ],
      'key1="route_/a",key2="to_a*"',
    ],
    [
      [
        ['route', ''],
        ['to', 'ab'],
      ],
      'key1="route",key2="to_a*"',
    ],
    [[['exact', 'e']], 'key1="exact_e"'],
    // What values share is named by what they share, whoever asks for their names.
    [
      [
        ['file', 'f/1'],
        ['from', 'x'],
      ],
      'key1="file_f/*",key2="from"',
    ],
    [
      [
        ['file', 'f/1'],
        ['to', 'x'],
      ],
      'key1="file_f/*",key2="to_x"',
    ],
  ];
  test.each(NAMES)('%j is named %s', async (entries, labels) => {
    service = await startEnvoy(YAML);
    await service.grpc({ domain: 'shop', descriptors: [{ entries: entries.map(([key, value]) => ({ key, value })) }] });
    expect(await counts(`domain="shop",${labels}`)).toMatchObject({ total_hits: 1 });
  });

  test('what clients send is named only where a rule asks for it, and only a thousand times', async () => {
    service = await startEnvoy(YAML);
    const deep = {
      entries: [
        { key: 'route', value: '/"x' },
        { key: 'to', value: 'ab' },
      ],
    };
    await service.json({
      domain: 'shop',
      descriptors: [deep, { ...entry('other'), limit: { requestsPerUnit: 1, unit: 'DAY' } }],
    });
    expect(await counts('domain="shop",key1="route_/\\"x",key2="to_a*"')).toMatchObject({ total_hits: 1 });
    expect(await counts('domain="shop",key1="override"')).toMatchObject({ total_hits: 1 });
    for (let batch = 0; batch < 6; batch++) {
      const descriptors = Array.from({ length: 200 }, (_, index) => entry('exact', `${batch}-${index}`));
      await service.grpc({ domain: 'shop', descriptors });
    }
    const { text } = await service.get('/metrics');
    expect(text.match(/^ratelimit_service_rate_limit_total_hits\{/gm)).toHaveLength(1002);
    expect(await counts('domain="shop",key1="exact"')).toMatchObject({ total_hits: 201 });
  });
});

test('nothing is said of Envoy before it asks', async () => {
  service = await startEnvoy('');
  expect((await service.get('/metrics')).text).not.toContain('ratelimit');
});

test('/rlconfig lists the rules', async () => {
  service = await startEnvoy(YAML);
  expect((await service.get('/rlconfig')).text.split('\n')).toContain(
    'shop.user: unit=MINUTE requests_per_unit=10, shadow_mode: false, quota_mode: false',
  );
});

describe('/healthcheck', () => {
  test.each([
    [YAML, true, 200, 'OK'],
    ['', false, 200, 'OK'],
    ['', true, 500, 'Internal Server Error\n'],
  ])('with %j, where a config is needed: %s', async (yaml, needsConfig, status, text) => {
    service = await startEnvoy(yaml, { settings: { needsConfig } });
    expect(await service.get('/healthcheck')).toMatchObject({ status, text });
  });
});

test.each([
  [true, false, 500],
  [true, true, 200],
  [false, false, 200],
])(
  '/healthcheck where a store that is away fails requests: %s, and it is up: %s',
  async (failsClosed, isUp, status) => {
    const store = {
      store: memoryStore(),
      description: 'test',
      failsClosed,
      isUp: async () => isUp,
      close: async () => {},
    };
    const running = await startService({ store });
    expect((await running.get('/healthcheck')).status).toBe(status);
    await running.stop();
  },
);

test('a policy that comes along cannot reach the state of a descriptor', async () => {
  service = await startEnvoy(YAML);
  const policy = { algorithm: 'fixed-window', name: 'envoy:60s', limit: 99, window: '1m' };
  const { status, body } = await service.post('/v1/reset', { key: '["shop","user","x"]', policy });
  expect([status, body.path]).toEqual([400, 'policy.name']);
});
