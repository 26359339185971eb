/** Logs as servers in the wild write them, which is not always as their manuals say: recognised, and who the client is. */
import { expect, test } from 'vitest';
import { bytesOf } from '../../src/logs/line-format.ts';
import { parseKeyPlan } from '../../src/logs/log-keys.ts';
import { formatOf } from '../../src/logs/recognize.ts';
import { RequestReader } from '../../src/logs/request-reader.ts';

const clf = (before: string, time = '12/Oct/2024:06:25:24 +0000'): string =>
  `${before} - - [${time}] "GET /api HTTP/1.1" 200 512 "-" "curl/7.88.1"`;

const VARIANTS: readonly (readonly [about: string, lines: readonly string[], format: string, clients: string[]])[] = [
  [
    'nginx with times of upstreams and X-Forwarded-For after it',
    [
      `${clf('203.0.113.7')} "198.51.100.23, 10.0.0.5" rt=0.123 uct="0.000" urt="0.1, 0.2"`,
      `${clf('2001:db8::7')} "-" rt=1.000 uct="-" urt="-"`,
    ],
    'combined',
    ['203.0.113.7', '2001:db8::/64'],
  ],
  [
    'ingress-nginx',
    [
      `${clf('10.1.2.4')} 118 0.002 [default-web-80] [] 10.244.0.5:8080, 10.244.0.6:8080 0, 15 0.000, 0.002 502, 200 4f7a`,
    ],
    'combined',
    ['10.1.2.4'],
  ],
  [
    'X-Forwarded-For in place of the address: the last hop counts',
    [clf('198.51.100.23, 10.0.0.5'), clf('198.51.100.24'), clf('198.51.100.25, 10.0.0.5, 10.0.0.6')],
    'combined',
    ['10.0.0.5', '198.51.100.24', '10.0.0.6'],
  ],
  ['ISO times in brackets', [clf('203.0.113.7', '2024-10-12T06:25:24+00:00')], 'combined', ['203.0.113.7']],
  ['microseconds in brackets', [clf('203.0.113.7', '10/Oct/2000:13:55:36.123456 -0700')], 'combined', ['203.0.113.7']],
  [
    'a virtual host without a port',
    [clf('www.example.com 203.0.113.7'), clf('shop.example.com 2001:db8::1')],
    'vhost',
    ['203.0.113.7', '2001:db8::/64'],
  ],
  [
    'after syslog, over a month',
    [clf('Oct  9 06:25:24 web1 nginx: 203.0.113.7'), clf('Oct 12 06:25:24 web1 nginx: 203.0.113.8')],
    'combined',
    ['203.0.113.7', '203.0.113.8'],
  ],
  [
    'after what a container runtime writes',
    [clf('2024-10-12T06:25:24.123456789Z stdout F 203.0.113.7')],
    'combined',
    ['203.0.113.7'],
  ],
  [
    'names instead of addresses',
    [clf('host-1.example.com'), clf('host-2.example.com')],
    'combined',
    ['host-1.example.com', 'host-2.example.com'],
  ],
  [
    'an Application Load Balancer with all its fields, IPv6 in brackets',
    [
      'https 2018-07-02T22:23:00.186641Z app/lb/50dc 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/ HTTP/1.1" "curl/7.46.0" ECDHE TLSv1.2 arn:aws:x "Root=1-5" "www.example.com" "arn:aws:acm" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "Ambiguous" "UndefinedContentLengthSemantics" TID_1',
      'h2 2018-07-02T22:23:00.186641Z app/lb/50dc [2001:db8::1]:48160 - -1 -1 -1 502 - 5 257 "GET https://10.0.2.105:773/ HTTP/2.0" "{\\"a\\": 1}" - - arn "Root=1" "-" "-" 1 2018-07-02T22:22:48.364000Z "redirect" "https://example.com:80/" "-" "-" "-" "-" "-"',
    ],
    'alb',
    ['192.168.131.39', '2001:db8::/64'],
  ],
  [
    'a Classic Load Balancer',
    [
      '2015-05-13T23:39:43.945958Z my-lb 192.168.131.39:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.38.0" - -',
    ],
    'elb',
    ['192.168.131.39'],
  ],
  [
    'CloudFront with its columns in another order',
    [
      '#Version: 1.0',
      '#Fields: c-ip time date cs-method cs-uri-stem x-edge-location',
      '192.0.2.10\t01:42:39\t2014-05-23\tGET\t/a\tFRA2',
    ],
    'cloudfront',
    ['192.0.2.10'],
  ],
  [
    'IIS',
    [
      '#Software: Microsoft Internet Information Services 10.0',
      '#Fields: date time s-ip cs-method cs-uri-stem cs-username c-ip sc-status',
      '2024-10-12 06:25:24 10.0.0.4 GET /a CORP\\bob 203.0.113.9 200',
    ],
    'cloudfront',
    ['203.0.113.9'],
  ],
  [
    'Envoy with nothing but dashes: counted as bad, because nobody is named',
    [
      '[2016-04-15T20:17:00.310Z] "POST /a HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "x" "cc" "l" "tcp://10.0.2.1:80"',
      '[2024-10-12T06:25:24.310Z] "- - HTTP/1.1" 400 DPE 0 11 0 - "-" "-" "-" "-" "-"',
    ],
    'envoy',
    ['10.0.35.28'],
  ],
  [
    'HAProxy after rsyslog, IPv6',
    [
      '2024-10-12T06:25:24.123456+00:00 lb1 haproxy[99]: 2001:db8::5:33317 [12/Oct/2024:06:25:24.100] www~ app/a1 0/0/0/1/1 200 100 - - ---- 1/1/0/0/0 0/0 "GET https://x.example/p HTTP/2.0"',
    ],
    'haproxy',
    ['2001:db8::/64'],
  ],
  [
    'Caddy with every spelling of its times',
    [
      '1646861401.5241024',
      '1646861401524.1',
      '"2022-03-09T21:30:01.524+0000"',
      '"2022/03/09 21:30:02.524"',
      '"09/Mar/2022:21:30:02 +0000"',
    ].map(
      (ts) =>
        `{"level":"info","ts":${ts},"msg":"handled request","request":{"remote_ip":"127.0.0.1","method":"GET","host":"h","uri":"/","headers":{"X":["1"]}},"status":200}`,
    ),
    'caddy',
    ['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.1'],
  ],
  [
    'Logpush with nanoseconds, seconds and RFC 3339',
    ['1729059200123456789', '1729059200', '"2024-10-16T06:13:20Z"'].map(
      (time) =>
        `{"ClientIP":"203.0.113.5","ClientRequestHost":"e.com","ClientRequestMethod":"GET","ClientRequestURI":"/a","EdgeStartTimestamp":${time}}`,
    ),
    'cloudflare',
    ['203.0.113.5', '203.0.113.5', '203.0.113.5'],
  ],
  [
    'pino, as Fastify logs',
    [
      '{"level":30,"time":1728714324123,"reqId":"req-1","req":{"method":"GET","url":"/a","remoteAddress":"203.0.113.5"},"msg":"incoming request"}',
    ],
    'json',
    ['203.0.113.5'],
  ],
  [
    'CSV of Windows: a mark, quotes, line ends',
    ['\uFEFF"Time","Client IP","Path"\r', '"2024-10-12T06:25:24Z","203.0.113.5","/a, b"\r', '\r'],
    'csv',
    ['203.0.113.5'],
  ],
];

test.each(VARIANTS)('%s', (_, lines, name, clients) => {
  const format = formatOf(lines.map((line) => line.replace(/^\uFEFF|\r$/g, '')));
  expect(format.name).toBe(name);
  const reader = new RequestReader({ format, key: parseKeyPlan('ip'), routes: true, lines: false });
  reader.read(bytesOf(lines.join('\n')));
  const { rows, tables } = reader;
  expect([...rows.clients.subarray(0, rows.count)].map((id) => tables.clients.textOf(id))).toEqual(clients);
});

test('a field of a log_format in place of the address', () => {
  const format = '$remote_addr - $remote_user [$time_local] "$request" $status "$http_x_forwarded_for"';
  const found = formatOf([], { format, fields: { ip: 'http_x_forwarded_for' } });
  const reader = new RequestReader({ format: found, key: parseKeyPlan('ip'), routes: true, lines: false });
  const line = '10.0.0.5 - - [12/Oct/2024:06:25:24 +0000] "GET / HTTP/1.1" 200';
  reader.read(bytesOf(`${line} "198.51.100.23"\n${line} "1.2.3.4, 198.51.100.24"\n${line} "-"`));
  const { rows, tables, counts } = reader;
  const clients = [...rows.clients.subarray(0, rows.count)].map((id) => tables.clients.textOf(id));
  expect([clients, counts.bad]).toEqual([['198.51.100.23', '198.51.100.24'], 1]);
});

test.each([
  [
    'S3',
    ['79a5 bucket [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a5 3E57 REST.GET - "GET /b HTTP/1.1" 200'],
    /not known/,
  ],
  [
    'Docker',
    [`{"log":"${clf('10.0.0.1').replaceAll('"', '\\"')}\\n","stream":"stdout","time":"2024-10-12T06:25:24Z"}`],
    /wrapped in JSON by Docker.*jq -rj \.log/,
  ],
  [
    'CSV with times of the US',
    ['time,ip', '10/12/2024 06:25:24 AM,203.0.113.5'],
    /looks like CSV, and none of its columns time,ip has times.*--field time=NAME/,
  ],
])('%s is not taken for something else', (_, lines, message) => {
  expect(() => formatOf(lines)).toThrow(message);
});
