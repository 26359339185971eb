/** The command line: what it prints and how it ends, against a server and straight on Redis. */
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, randomPort, startServer } from '../../../tools/servers/index.ts';
import { VARIABLES } from '../src/cli/variables.ts';
import { run } from './run.ts';
import { CONFIG, type RunningService, startService } from './support.ts';

const sample = fileURLToPath(new URL('../examples/policies.yaml', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
const config = join(folder, 'policies.yaml');
const bad = join(folder, 'bad.yaml');
writeFileSync(config, CONFIG);
writeFileSync(bad, 'policies:\n  api: { algorithm: token-bucket, capacity: 0, refillRate: 1 }\ntypo: 1\n');
afterAll(() => rmSync(folder, { recursive: true }));

const COMMANDS = [
  ...['serve', 'backtest', 'suggest', 'check', 'explain', 'schema'],
  ...[
    'attempt',
    'peek',
    'refund',
    'penalize',
    'reset',
    'block',
    'unblock',
    'history',
    'exceptions',
    'inspect',
    'errors',
    'top',
  ],
  ...['enter', 'release', 'extend', 'init', 'completions'],
  ...['reserve', 'settle'],
];

const TLS_CERT = fileURLToPath(new URL('tls/localhost.pem', import.meta.url));

describe('help', () => {
  test('lists every command', async () => {
    const { code, out } = await run([]);
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(out).toMatch(new RegExp(`^ {2}${name} `, 'm'));
    expect(await run(['--help'])).toEqual(await run([]));
  });

  test.each(COMMANDS)('%s --help has usage and examples', async (name) => {
    const { code, out } = await run([name, '--help']);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/Usage: sluice .*Examples?:\n {2}(SLUICE_TOKEN=secret )?sluice /s),
    ]);
    expect(await run(['help', name])).toEqual({ code, out, error: '' });
  });
});

test.each(['--version', '-V'])('%s', async (flag) => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(await run([flag])).toEqual({ code: 0, out: `sluice ${version}\n`, error: '' });
});

describe('check', () => {
  test('a good file', async () => {
    expect(await run(['check', sample])).toMatchObject({
      code: 0,
      out: `${sample}: 4 policies, 4 rules\n1 file, no problems\n`,
    });
  });

  test('several: every problem of every file', async () => {
    const { code, out } = await run(['check', sample, bad, join(folder, 'missing.yaml')]);
    expect([code, out.trim().split('\n')]).toEqual([
      1,
      [
        expect.stringContaining('4 policies'),
        `${bad}:2:3: policies.api: is already in ${sample}`,
        '2 |   api: { algorithm: token-bucket, capacity: 0, refillRate: 1 }',
        '  |   ^',
        expect.stringContaining(`${bad}:2:35: policies.api.capacity: expected a whole number`),
        '2 |   api: { algorithm: token-bucket, capacity: 0, refillRate: 1 }',
        '  |                                   ^',
        expect.stringContaining(`${bad}:3:1: typo: no such field`),
        '3 | typo: 1',
        '  | ^',
        expect.stringContaining('missing.yaml: cannot be read'),
        '4 problems in 2 files, 1 file without',
      ],
    ]);
  });
});

describe('explain', () => {
  test('in words and as JSON', async () => {
    const args = ['explain', sample, '--request', 'GET /search/shoes', '--header', 'x-api-key: abc'];
    expect(await run(args)).toMatchObject({ code: 0, out: expect.stringContaining('Limited by search, api, daily') });
    const { spends } = JSON.parse((await run([...args, '--json'])).out);
    expect(spends[0]).toMatchObject({ key: 'header:x-api-key:abc', cost: 2, policy: { name: 'search' } });
  });

  test('a path in another spelling, and one that nobody can read', async () => {
    const explain = (path: string) => run(['explain', sample, '--request', `POST ${path}`]);
    expect((await explain('/x%ff/%2e%2e/login')).out).toMatch(
      /yes {2}logins\n.*key "all:ip:127\.0\.0\.1\|path:POST \/login"/,
    );
    const unreadable = await explain(`/${'a%2f%5c%3b%3f%2e%2e;x//..%ff%c0%af%u002f%252e'.repeat(3)}`);
    expect([unreadable.code, unreadable.error]).toEqual([
      2,
      expect.stringContaining('--request: The path can be read in too many ways.'),
    ]);
  });
});

test.each([
  [{ SLUICE_PORT: 'x' }, '--port: expected a number'],
  [{ SLUICE_FALLBACK: 'x' }, '--fallback: expected local or allow or deny'],
  [{ SLUICE_PROTECT: 'x' }, '--protect: expected changes or everything'],
  [{ SLUICE_REDIS: 'x' }, '--redis: expected redis://'],
  [{ SLUICE_LOG_REQUESTS: 'maybe' }, 'SLUICE_LOG_REQUESTS: expected 1, true, 0 or false'],
  [{ SLUICE_TOKEN: '' }, '--token: expected a text'],
  [{ SLUICE_TOKEN: 'schlüssel' }, '--token: expected a text of ASCII'],
  [{ SLUICE_PROTECT: 'everything' }, '--protect everything: expected --token as well, got none'],
  [{ SLUICE_DEADLINE: 'soon' }, '--deadline: expected a positive number'],
  [{ SLUICE_TLS_CERT: TLS_CERT }, '--tls-key: expected a file'],
  [{ SLUICE_TLS_CERT: '/nowhere.pem', SLUICE_TLS_KEY: TLS_CERT }, '--tls-cert: cannot be read'],
  [{ SLUICE_TLS_CERT: TLS_CERT, SLUICE_TLS_KEY: TLS_CERT }, '--tls-cert, --tls-key: cannot be used'],
])('serve with %o is wrong usage', async (environment, message) => {
  expect(await run(['serve'], environment)).toMatchObject({ code: 2, error: expect.stringContaining(message) });
});

test.each([
  [['what'], 'there is no command "what"'],
  [['check'], 'which file?'],
  [['check', '--fast'], "Unknown option '--fast'"],
  [['explain', sample], "expected --request 'METHOD /path'"],
  [['explain', '--request', 'GET /'], 'which file?'],
  [['ckeck'], 'there is no command "ckeck". Did you mean check?'],
  [['pek'], 'Did you mean peek?'],
  [['check', sample, '--jsno'], "Unknown option '--jsno'. Did you mean --json?"],
  [['serve', '--conifg', sample], 'Did you mean --config?'],
  [['serve', '--redis', 'localhost:6379'], '--redis: expected redis://host:6379, redis+cluster://'],
  [['serve', '--redis', 'rediss://localhost', '--redis-ca', '/nowhere.pem'], '--redis-ca: cannot be read'],
  [['serve', '--max-keys', '0'], '--max-keys: expected a number from 1'],
  [['inspect', 'a'], 'expected --redis ADDRESS'],
  [['inspect', '--redis', 'redis://x'], 'expected one key'],
  [['top', 'a'], 'unexpected "a"'],
  [['top', '--seconds', '61'], '--seconds: expected a number from 1 to 60'],
  [['explain', sample, '--request', 'GET /', '--header', 'x'], 'expected --header NAME:VALUE'],
  [['attempt'], 'expected one key'],
  [['attempt', 'a', 'b', '--policy', 'x'], 'expected one key'],
  [['attempt', 'a'], 'expected --policy NAME'],
  [['attempt', 'a', '--policy', '{'], '--policy: '],
  [['attempt', 'a', '--policy', 'x', '--cost', '-1'], ''],
  [['attempt', 'a', '--policy', 'x', '--cost', 'x'], '--cost: expected a whole number'],
  [['attempt', 'a', '--policy', 'x', '--for', '1m'], "Unknown option '--for'"],
  [['attempt', 'a', '--policy', 'x', '--server', 'nowhere'], '--server: expected a URL'],
  [
    ['attempt', 'a', '--policy', 'x', '--server', 'localhost:8080'],
    '--server: expected a URL such as http://127.0.0.1:8080',
  ],
  [['attempt', 'a', '--policy', 'x', '--server', 'http://x', '--redis', 'redis://x'], 'either --server or --redis'],
  [['attempt', 'a', '--policy', 'x', '--config', 'x'], '--config goes with --redis'],
  [['block', 'a', '--policy', 'x'], 'expected --for TIME'],
  [['attempt', 'a', '--policy', 'x', '--limit', '5'], "Unknown option '--limit'"],
  [['history', 'a', '--policy', 'x', '--after', 'noon'], '--after: expected Unix time in seconds'],
  [['errors', 'a', 'b'], 'expected one code'],
  [['errors', 'SLUICE_TIMEUOT'], 'there is no code "SLUICE_TIMEUOT". Did you mean SLUICE_TIMEOUT?'],
  [['serve', '--port', '65536'], '--port: expected a number from 0 to 65535'],
  [['serve', '--allowed-hosts', 'a.example:80'], '--allowed-hosts: expected names with commas between'],
  [['serve', '--envoy-negative-hits', 'x'], '--envoy-negative-hits: expected token or allow or refuse'],
])('%s is wrong usage', async (args, message) => {
  const { code, out, error } = await run(args);
  expect([code, out]).toEqual([2, '']);
  expect(error).toContain(message);
});

const LOG = '{"algorithm":"sliding-window-log","name":"log","limit":5,"window":"1h"}';

/** Arguments, exit code, what is said. Each row goes on where the one before it ended. */
const STORY: readonly (readonly [args: string, code: number, out: string | RegExp])[] = [
  ['peek a --policy daily', 0, /^allowed: 20 of 20 left \(daily\), reset in 0 s$/],
  ['attempt a --policy daily --cost 18', 0, /^allowed: 2 of 20 left \(daily\), reset in (1 d|2\d h \d+ min)$/],
  ['attempt a --policy daily --cost 3', 1, /^denied: 2 of 20 left \(daily\), try again in (1 d|2\d h \d+ min)$/],
  ['attempt a --policy daily --cost 21', 1, /^denied: 2 of 20 left \(daily\), this cost never fits$/],
  ['peek a --policy daily --cost 3', 1, /^denied/],
  ['attempt a --policy daily --policy api --cost 2', 0, /^allowed: 0 of 20 left \(daily\)/],
  ['refund a --policy daily --cost 3', 0, /^done: 3 given back, 3 of 20 left \(daily\)$/],
  ['penalize a --policy daily --cost 2', 0, /^done: 2 taken, 1 of 20 left \(daily\)$/],
  ['penalize a --policy daily --cost 9', 0, /^done: 1 taken, 0 of 20 left \(daily\)$/],
  ['reset a --policy daily', 0, /^done: the key is reset$/],
  ['attempt a --policy daily', 0, /^allowed: 19 of 20/],
  ['block a --policy daily --for 10m', 0, /^done: blocked for 10 min$/],
  ['attempt a --policy daily', 1, /^denied/],
  ['unblock a --policy daily', 0, /^done/],
  ['attempt a --policy daily', 0, /^allowed: 18 of 20/],
  ['attempt a --policy api --plan pro --json', 0, /^\{"allowed":true,"limit":100,/],
  ['attempt a --policy shaped --cost 2', 0, /^allowed: 1 of 3 left \(shaped\), reset in 0\.\d+ s$/],
  [
    'attempt a --policy {"algorithm":"leaky-bucket","capacity":5,"leakRate":"1/h","mode":"shaping"}',
    0,
    /^allowed: 4 of 5/,
  ],
  [
    'attempt a --policy {"algorithm":"leaky-bucket","capacity":5,"leakRate":"1/h","mode":"shaping"}',
    0,
    /^allowed: wait (1 h|59 min \d+ s) first, 3 of 5 left/,
  ],
  ['attempt a --policy {"algorithm":"gcra","limit":1,"period":"1m"}', 0, /^allowed: 0 of 1 left \(gcra\)/],
  [`attempt b --policy ${LOG} --cost 2`, 0, /^allowed: 3 of 5/],
  [`attempt b --policy ${LOG}`, 0, /^allowed: 2 of 5/],
  [
    `history b --policy ${LOG}`,
    0,
    /^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z {2}[123]\n)+[12] entries, 3 units allowed \(log\)$/,
  ],
  [`history b --policy ${LOG} --after 99999999999`, 0, /^0 entries, 0 units allowed \(log\)$/],
  [`history nobody --policy ${LOG} --json`, 0, /^\{"policy":"log","entries":\[\],"next":null\}$/],
];

const tell = async (target: readonly string[]): Promise<void> => {
  for (const [args, code, out] of STORY) {
    const ended = await run([...args.split(' '), ...target]);
    expect([args, ended.error, ended.code]).toEqual([args, '', code]);
    expect(ended.out.trim()).toMatch(out);
  }
};

describe('verbs against a server', () => {
  let running: RunningService;
  beforeAll(async () => {
    running = await startService({ token: 'secret' });
  });
  afterAll(() => running.stop());

  test('a story', () => tell(['--server', running.url, '--token', 'secret']));

  test('behind a gateway, below a path of its own', async () => {
    const asked: string[] = [];
    const gateway = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('{"reset":true}');
    });
    await once(gateway.listen(0, '127.0.0.1'), 'listening');
    const { port } = gateway.address() as AddressInfo;
    await run(['reset', 'a', '--policy', 'api', '--server', `http://127.0.0.1:${port}/limits/`]);
    expect(asked).toEqual(['/limits/v1/reset']);
    gateway.close();
  });

  test('by environment', async () => {
    const environment = { SLUICE_SERVER: running.url, SLUICE_TOKEN: 'secret' };
    expect(await run(['reset', 'a', '--policy', 'api'], environment)).toMatchObject({ code: 0 });
  });

  test.each([
    ['reset a --policy api', 3, 'answered 401: This needs the bearer token'],
    ['penalize a --policy api', 3, 'answered 401: This needs the bearer token'],
    ['history a --policy api', 3, 'answered 401: This needs the bearer token'],
    ['attempt a --policy nope', 2, 'answered 400: policy: there is no policy "nope"'],
    ['attempt a --policy {"algorithm":"gcra"}', 2, 'answered 400: policy.limit: expected'],
    ['history a --policy api --token secret', 2, 'answered 400:'],
  ])('%s ends with %i, and says why', async (args, expected, message) => {
    const { code, error } = await run([...args.split(' '), '--server', running.url]);
    expect([code, error]).toEqual([expected, expect.stringContaining(message)]);
  });

  test('nobody there, in sentences', async () => {
    const port = randomPort();
    const rows = [
      [`http://127.0.0.1:${port}`, 'does not answer: nothing listens there. Is sluice serve running?'],
      ['http://127.0.0.1:1', 'port 1 belongs to another protocol, so HTTP clients block it.'],
      ['http://nowhere.invalid:8080', 'does not answer: the host name nowhere.invalid is not known.'],
    ] as const;
    for (const [url, message] of rows) {
      const { code, error } = await run(['peek', 'a', '--policy', 'api', '--server', url]);
      expect([code, error]).toEqual([3, expect.stringContaining(message)]);
    }
  });
});

describe('verbs straight on Redis', () => {
  let redis: RunningServer;
  beforeAll(async () => {
    redis = await startServer({ kind: 'redis' });
  });
  afterAll(() => redis.stop());

  test('the same story', () => tell(['--redis', redis.url, '--config', config]));

  test('without a config there are no names', async () => {
    const { code, error } = await run(['peek', 'a', '--policy', 'api', '--redis', redis.url]);
    expect([code, error]).toEqual([2, expect.stringContaining('there is no policy "api"; there are: none')]);
  });

  test('nobody there', async () => {
    const { code, error } = await run([
      'peek',
      'a',
      '--policy',
      'api',
      '--redis',
      'redis://127.0.0.1:1',
      '--config',
      config,
    ]);
    expect([code, error]).toEqual([3, expect.stringMatching(/^sluice peek: .+/)]);
  });
});

describe('errors', () => {
  test('lists every code there is a page for, in the order of the documentation', async () => {
    const { code, out } = await run(['errors']);
    expect(code).toBe(0);
    const pages = readdirSync(new URL('../../../docs/errors/', import.meta.url)).filter((name) => name !== 'README.md');
    const listed = out
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]!);
    expect([...listed].sort()).toEqual(pages.map((name) => name.replace('.md', '')).sort());
    expect(out).toMatch(/^SLUICE_TIMEOUT +The store did not answer in time\.$/m);
    expect(JSON.parse((await run(['errors', '--json'])).out)).toHaveLength(listed.length);
  });

  test.each(['SLUICE_NO_HISTORY', 'sluice_no_history', 'NO_HISTORY', 'no_history'])('%s is a page', async (name) => {
    const page = readFileSync(new URL('../../../docs/errors/SLUICE_NO_HISTORY.md', import.meta.url), 'utf8');
    expect(await run(['errors', name])).toEqual({ code: 0, out: page, error: '' });
  });
});

describe('variables', () => {
  test('those that are known are those that the commands name in their help', async () => {
    const helps = await Promise.all(COMMANDS.map(async (name) => (await run([name, '--help'])).out));
    const named = new Set(helps.join('\n').match(/\bSLUICE_[A-Z_]+\b/g));
    // Given by their beginning: SLUICE_REDIS_CA, ...
    for (const more of ['SLUICE_REDIS_CERT', 'SLUICE_REDIS_KEY', 'SLUICE_REDIS_SENTINEL_PASSWORD']) named.add(more);
    for (const code of ['SLUICE_TIMEOUT']) named.delete(code);
    expect([...named].sort()).toEqual([...VARIABLES].sort());
  });

  test('one that is none is told, with the one that was meant', async () => {
    const { code, error } = await run(['check', sample], { SLUICE_CONFG: 'x', SLUICE_SEED: '1' });
    expect([code, error]).toEqual([
      0,
      'sluice: The unknown variable SLUICE_CONFG is ignored. Did you mean SLUICE_CONFIG?\n',
    ]);
  });

  test('those that Kubernetes sets for a service named sluice are not ours', async () => {
    const links = {
      SLUICE_SERVICE_HOST: '10.0.0.1',
      SLUICE_SERVICE_PORT: '8080',
      SLUICE_SERVICE_PORT_GRPC: '8081',
      SLUICE_PORT: 'tcp://10.0.0.1:8080',
      SLUICE_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      SLUICE_PORT_8080_TCP_PROTO: 'tcp',
      SLUICE_PORT_8080_TCP_PORT: '8080',
      SLUICE_PORT_8080_TCP_ADDR: '10.0.0.1',
    };
    expect(await run(['check', sample], links)).toMatchObject({ code: 0, error: '' });
    // It gets as far as the config, with the port of its own.
    const { error } = await run(['serve', '--config', '/nowhere.yaml'], links);
    expect(error).toContain('cannot be read');
    expect(error).not.toMatch(/--port|unknown variable/);
  });
});
