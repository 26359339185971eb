/**
 * Field tables: lines that are hard to read, in every format, and what they say. A row is a line, then time, address, method and path; `null`
 * where the line does not say, or a text that the reason for not reading it has to hold.
 */
export type Fields = readonly [time: string, ip: string | null, method: string | null, path: string | null];
export type Row = readonly [about: string, line: string, wanted: Fields | { readonly bad: string } | 'nothing'];

export interface FormatTable {
  /** As `--format` calls it. */
  readonly format: string;
  /** What recognising it from its first lines gives; the name of the format by default. */
  readonly recognised?: string;
  /** Lines that come before the others, such as the names of columns. */
  readonly head?: readonly string[];
  readonly rows: readonly Row[];
}

const T = '2015-05-17T10:05:03.000000Z';
const HUGE = `/${'a'.repeat(100_000)}`;
const UA = '"-" "Mozilla/5.0 (X11; Linux) \\"quoted\\" x"';
const clf = (ip: string, time: string, request: string, rest = `200 12 ${UA}`): string =>
  `${ip} - - [${time}] "${request}" ${rest}`;
const D = '17/May/2015:10:05:03';

const clfRows = (before: string, rest: string): Row[] => [
  [
    'plain',
    `${before}${clf('83.149.9.216', `${D} +0000`, 'GET /a?b=1 HTTP/1.1', rest)}`,
    [T, '83.149.9.216', 'GET', '/a?b=1'],
  ],
  ['IPv6', `${before}${clf('2001:db8::1', `${D} +0000`, 'GET / HTTP/2.0', rest)}`, [T, '2001:db8::1', 'GET', '/']],
  [
    'east of Greenwich',
    `${before}${clf('10.0.0.1', '17/May/2015:12:35:03 +0230', 'GET / HTTP/1.1', rest)}`,
    [T, '10.0.0.1', 'GET', '/'],
  ],
  [
    'west of Greenwich, over midnight',
    `${before}${clf('10.0.0.1', '16/May/2015:23:05:03 -1100', 'GET / HTTP/1.1', rest)}`,
    [T, '10.0.0.1', 'GET', '/'],
  ],
  [
    'a quote in the path, as Apache writes it',
    `${before}${clf('10.0.0.1', `${D} +0000`, 'GET /\\"x\\" HTTP/1.1', rest)}`,
    [T, '10.0.0.1', 'GET', '/\\"x\\"'],
  ],
  [
    'escaped bytes of a scanner',
    `${before}${clf('10.0.0.1', `${D} +0000`, '\\x16\\x03\\x01', rest)}`,
    [T, '10.0.0.1', null, null],
  ],
  ['no request at all', `${before}${clf('10.0.0.1', `${D} +0000`, '-', rest)}`, [T, '10.0.0.1', null, null]],
  [
    'no protocol, as HTTP/0.9',
    `${before}${clf('10.0.0.1', `${D} +0000`, 'GET /old', rest)}`,
    [T, '10.0.0.1', 'GET', '/old'],
  ],
  [
    'a space in the path',
    `${before}${clf('10.0.0.1', `${D} +0000`, 'GET /a b HTTP/1.1', rest)}`,
    [T, '10.0.0.1', 'GET', '/a b'],
  ],
  [
    'a huge path',
    `${before}${clf('10.0.0.1', `${D} +0000`, `GET ${HUGE} HTTP/1.1`, rest)}`,
    [T, '10.0.0.1', 'GET', HUGE],
  ],
  [
    'a name instead of an address',
    `${before}${clf('client.example.com', `${D} +0000`, 'GET / HTTP/1.1', rest)}`,
    [T, 'client.example.com', 'GET', '/'],
  ],
  [
    'a user with a space',
    `${before}10.0.0.1 - john doe [${D} +0000] "GET / HTTP/1.1" ${rest}`,
    [T, '10.0.0.1', 'GET', '/'],
  ],
  ['no address', `${before}${clf('-', `${D} +0000`, 'GET / HTTP/1.1', rest)}`, [T, null, 'GET', '/']],
  ['an empty line', '', 'nothing'],
  ['cut off in the time', `${before}10.0.0.1 - - [17/May/20`, { bad: 'cut off' }],
  ['cut off in the request', `${before}10.0.0.1 - - [${D} +0000] "GET /a`, { bad: 'cut off' }],
  [
    'a day that no calendar has',
    `${before}${clf('10.0.0.1', '31/Feb/2015:10:05:03 +0000', 'GET / HTTP/1.1', rest)}`,
    { bad: 'time' },
  ],
  [
    'a month that no calendar has',
    `${before}${clf('10.0.0.1', '17/Mai/2015:10:05:03 +0000', 'GET / HTTP/1.1', rest)}`,
    { bad: 'time' },
  ],
  ['a zone that is none', `${before}${clf('10.0.0.1', `${D} +9999`, 'GET / HTTP/1.1', rest)}`, { bad: 'time' }],
];

const envoy = (time: string, request: string, forwarded: string, flags = '-'): string =>
  `[${time}] "${request}" 204 ${flags} 154 0 226 100 "${forwarded}" "nsq2http" "cc21d9b0" "locations" "tcp://10.0.2.1:80"`;
const T3 = '2016-04-15T20:17:00.310000Z';

const haproxy = (address: string, time: string, request: string, before = ''): string =>
  `${before}${address} [${time}] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "${request}"`;
const TH = '2009-02-06T12:14:14.655000Z';
const DH = '06/Feb/2009:12:14:14.655';

const alb = (client: string, time: string, request: string, type = 'http'): string =>
  `${type} ${time} app/my-lb/50dc6c495c0c9188 ${client} 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "${request}" "curl/7.46.0" - - arn:aws:x "Root=1-58" "-" "-" 0`;
const TA = '2018-07-02T22:23:00.186641Z';

const front = (...fields: readonly string[]): string => fields.join('\t');
const TC = '2019-12-04T21:02:31.000000Z';

/** The same hard values in JSON, by what a server calls its fields. */
function jsonRows(make: (time: unknown, ip: unknown, method: unknown, path: unknown) => object): Row[] {
  const line = (...of: Parameters<typeof make>): string => JSON.stringify(make(...of));
  return [
    ['plain', line(T, '83.149.9.216', 'GET', '/a?b=1'), [T, '83.149.9.216', 'GET', '/a?b=1']],
    ['IPv6', line(T, '2001:db8::1', 'GET', '/'), [T, '2001:db8::1', 'GET', '/']],
    ['quotes and backslashes', line(T, '10.0.0.1', 'GET', '/"a"\\b'), [T, '10.0.0.1', 'GET', '/"a"\\b']],
    [
      'escaped bytes',
      line(T, '10.0.0.1', 'GET', '/\u0000\u001f\u00e9').replace('é', '\\u00e9'),
      [T, '10.0.0.1', 'GET', '/\u0000\u001f\u00e9'],
    ],
    [
      'escaped slashes',
      line(T, '10.0.0.1', 'GET', '/a/b').replaceAll('/a/b', '\\/a\\/b'),
      [T, '10.0.0.1', 'GET', '/a/b'],
    ],
    ['another zone', line('2015-05-17T12:35:03+02:30', '10.0.0.1', 'GET', '/'), [T, '10.0.0.1', 'GET', '/']],
    [
      'nanoseconds',
      line('2015-05-17T10:05:03.123456789Z', '10.0.0.1', 'GET', '/'),
      ['2015-05-17T10:05:03.123456Z', '10.0.0.1', 'GET', '/'],
    ],
    [
      'seconds as a number with a fraction',
      line(1431857103.25, '10.0.0.1', 'GET', '/'),
      ['2015-05-17T10:05:03.250000Z', '10.0.0.1', 'GET', '/'],
    ],
    [
      'milliseconds as a number',
      line(1431857103250, '10.0.0.1', 'GET', '/'),
      ['2015-05-17T10:05:03.250000Z', '10.0.0.1', 'GET', '/'],
    ],
    [
      'nanoseconds as a number',
      line('X', '10.0.0.1', 'GET', '/').replace('"X"', '1431857103250000999'),
      ['2015-05-17T10:05:03.250000Z', '10.0.0.1', 'GET', '/'],
    ],
    ['fields that are not there', line(T, '10.0.0.1', undefined, undefined), [T, '10.0.0.1', null, null]],
    ['fields that are null', line(T, '10.0.0.1', null, null), [T, '10.0.0.1', null, null]],
    ['a huge path', line(T, '10.0.0.1', 'GET', HUGE), [T, '10.0.0.1', 'GET', HUGE]],
    [
      'spaces around everything',
      JSON.stringify(make(T, '10.0.0.1', 'GET', '/'), undefined, 1).replaceAll('\n', ' '),
      [T, '10.0.0.1', 'GET', '/'],
    ],
    ['an empty line', '   ', 'nothing'],
    ['cut off', line(T, '10.0.0.1', 'GET', '/').slice(0, -3), { bad: 'cut off' }],
    ['a list', '[1, 2]', { bad: 'no object' }],
    ['deeper than anybody logs', `{"x":${'['.repeat(100)}${']'.repeat(100)}}`, { bad: 'JSON' }],
    ['no time', line(undefined, '10.0.0.1', 'GET', '/'), { bad: 'time' }],
    ['a time that is none', line('yesterday', '10.0.0.1', 'GET', '/'), { bad: 'time' }],
  ];
}

const csvHead = 'TIMESTAMP,client_ip,method,url';

export const TABLES: readonly FormatTable[] = [
  { format: 'combined', rows: clfRows('', `200 12 ${UA}`) },
  { format: 'common', rows: clfRows('', '200 12') },
  { format: 'vhost', rows: clfRows('www.example.com:443 ', `200 12 ${UA}`) },
  { format: 'traefik', rows: clfRows('', '200 12 "-" "curl/8" 42 "web@docker" "http://10.0.0.9:80" 7ms') },
  {
    format: '$remote_addr|$msec|$request_method $request_uri|$status|$http_x_api_key',
    recognised: 'none',
    rows: [
      [
        'plain',
        '10.0.0.1|1431857103.250|GET /a?b=1|200|k1',
        ['2015-05-17T10:05:03.250000Z', '10.0.0.1', 'GET', '/a?b=1'],
      ],
      ['IPv6', '2001:db8::1|1431857103.000|GET /|200|-', [T, '2001:db8::1', 'GET', '/']],
      ['no address', '-|1431857103.000|GET /|200|-', [T, null, 'GET', '/']],
      ['no method', '10.0.0.1|1431857103.000|- /|200|-', [T, '10.0.0.1', null, '/']],
      ['escaped bytes', '10.0.0.1|1431857103.000|GET /\\x22\\x00|200|-', [T, '10.0.0.1', 'GET', '/\\x22\\x00']],
      ['quotes', '10.0.0.1|1431857103.000|GET /"a"|200|-', [T, '10.0.0.1', 'GET', '/"a"']],
      ['a huge path', `10.0.0.1|1431857103.000|GET ${HUGE}|200|-`, [T, '10.0.0.1', 'GET', HUGE]],
      ['whole seconds', '10.0.0.1|1431857103|GET /|200|-', [T, '10.0.0.1', 'GET', '/']],
      ['an empty line', '', 'nothing'],
      ['cut off', '10.0.0.1|1431857103.2', { bad: 'cut off' }],
      ['no time', '10.0.0.1|-|GET /|200|-', { bad: 'time' }],
      ['a time that is none', '10.0.0.1|12:00|GET /|200|-', { bad: 'time' }],
    ],
  },
  {
    format: 'envoy',
    rows: [
      [
        'plain',
        envoy('2016-04-15T20:17:00.310Z', 'POST /api/v1/locations HTTP/2', '10.0.35.28'),
        [T3, '10.0.35.28', 'POST', '/api/v1/locations'],
      ],
      ['IPv6', envoy('2016-04-15T20:17:00.310Z', 'GET / HTTP/1.1', '2001:db8::1'), [T3, '2001:db8::1', 'GET', '/']],
      [
        'several hops: the last is the one that Envoy saw',
        envoy('2016-04-15T20:17:00.310Z', 'GET / HTTP/1.1', '1.2.3.4, 10.0.0.7'),
        [T3, '10.0.0.7', 'GET', '/'],
      ],
      ['nobody', envoy('2016-04-15T20:17:00.310Z', 'GET / HTTP/1.1', '-'), [T3, null, 'GET', '/']],
      [
        'another zone',
        envoy('2016-04-15T22:17:00.310+02:00', 'GET / HTTP/1.1', '10.0.0.1'),
        [T3, '10.0.0.1', 'GET', '/'],
      ],
      [
        'whole seconds',
        envoy('2016-04-15T20:17:00Z', 'GET / HTTP/1.1', '10.0.0.1'),
        ['2016-04-15T20:17:00.000000Z', '10.0.0.1', 'GET', '/'],
      ],
      [
        'flags',
        envoy('2016-04-15T20:17:00.310Z', 'GET / HTTP/1.1', '10.0.0.1', 'UF,URX'),
        [T3, '10.0.0.1', 'GET', '/'],
      ],
      [
        'escaped bytes',
        envoy('2016-04-15T20:17:00.310Z', 'GET /\\x22 HTTP/1.1', '10.0.0.1'),
        [T3, '10.0.0.1', 'GET', '/\\x22'],
      ],
      [
        'a huge path',
        envoy('2016-04-15T20:17:00.310Z', `GET ${HUGE} HTTP/1.1`, '10.0.0.1'),
        [T3, '10.0.0.1', 'GET', HUGE],
      ],
      ['an empty line', '', 'nothing'],
      ['cut off', '[2016-04-15T20:17:00.310Z] "GET /', { bad: 'cut off' }],
      ['something else', '2016-04-15 starting main dispatch loop', { bad: 'begin' }],
      ['a time that is none', envoy('tomorrow', 'GET / HTTP/1.1', '10.0.0.1'), { bad: 'time' }],
    ],
  },
  {
    format: 'haproxy',
    rows: [
      ['plain', haproxy('10.0.1.2:33317', DH, 'GET /index.html HTTP/1.1'), [TH, '10.0.1.2', 'GET', '/index.html']],
      [
        'after syslog',
        haproxy('10.0.1.2:33317', DH, 'GET / HTTP/1.1', 'Feb  6 12:14:14 localhost haproxy[14389]: '),
        [TH, '10.0.1.2', 'GET', '/'],
      ],
      [
        'after a newer syslog',
        haproxy('10.0.1.2:33317', DH, 'GET / HTTP/1.1', '<134>1 2009-02-06T12:14:14Z host haproxy 14389 - - '),
        [TH, '10.0.1.2', 'GET', '/'],
      ],
      ['IPv6', haproxy('2001:db8::1:33317', DH, 'GET / HTTP/1.1'), [TH, '2001:db8::1', 'GET', '/']],
      ['IPv4 in IPv6', haproxy('::ffff:10.0.1.2:33317', DH, 'GET / HTTP/1.1'), [TH, '::ffff:10.0.1.2', 'GET', '/']],
      [
        'a request that HAProxy could not read',
        haproxy('10.0.1.2:33317', DH, '<BADREQ>'),
        [TH, '10.0.1.2', null, null],
      ],
      [
        'no end of the quote: HAProxy cuts long lines',
        haproxy('10.0.1.2:33317', DH, `GET ${HUGE}`).slice(0, -1),
        [TH, '10.0.1.2', 'GET', HUGE],
      ],
      ['a huge path', haproxy('10.0.1.2:33317', DH, `GET ${HUGE} HTTP/1.1`), [TH, '10.0.1.2', 'GET', HUGE]],
      ['escaped bytes', haproxy('10.0.1.2:33317', DH, 'GET /#22#00 HTTP/1.1'), [TH, '10.0.1.2', 'GET', '/#22#00']],
      [
        'a zone',
        haproxy('10.0.1.2:33317', '06/Feb/2009:13:14:14.655 +0100', 'GET / HTTP/1.1'),
        [TH, '10.0.1.2', 'GET', '/'],
      ],
      ['an empty line', '', 'nothing'],
      ['cut off', 'Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/20', { bad: 'cut off' }],
      ['something else', 'Feb  6 12:14:14 localhost haproxy[14389]: Server static/srv1 is DOWN.', { bad: 'time' }],
      [
        'a day that no calendar has',
        haproxy('10.0.1.2:33317', '30/Feb/2009:12:14:14.655', 'GET / HTTP/1.1'),
        { bad: 'time' },
      ],
    ],
  },
  {
    format: 'alb',
    rows: [
      [
        'plain',
        alb('192.168.131.39:2817', TA, 'GET http://www.example.com:80/a?b=1 HTTP/1.1'),
        [TA, '192.168.131.39', 'GET', 'http://www.example.com:80/a?b=1'],
      ],
      [
        'HTTP/2',
        alb('10.0.1.252:48160', TA, 'GET https://10.0.2.105:773/ HTTP/2.0', 'h2'),
        [TA, '10.0.1.252', 'GET', 'https://10.0.2.105:773/'],
      ],
      [
        'IPv6',
        alb('2001:db8::1:48160', TA, 'GET https://a.example/ HTTP/1.1', 'https'),
        [TA, '2001:db8::1', 'GET', 'https://a.example/'],
      ],
      [
        'a WebSocket',
        alb('10.0.0.140:40914', TA, 'GET http://10.0.0.30:80/ HTTP/1.1', 'ws'),
        [TA, '10.0.0.140', 'GET', 'http://10.0.0.30:80/'],
      ],
      [
        'no request',
        alb('10.0.0.1:40914', TA, '- http://www.example.com:80- -'),
        [TA, '10.0.0.1', '-', 'http://www.example.com:80- -'],
      ],
      [
        'escaped bytes',
        alb('10.0.0.1:40914', TA, 'GET http://a.example/\\x22 HTTP/1.1'),
        [TA, '10.0.0.1', 'GET', 'http://a.example/\\x22'],
      ],
      [
        'another zone',
        alb('10.0.0.1:40914', '2018-07-03T00:23:00.186641+02:00', 'GET http://a.example/ HTTP/1.1'),
        [TA, '10.0.0.1', 'GET', 'http://a.example/'],
      ],
      [
        'whole seconds',
        alb('10.0.0.1:40914', '2018-07-02T22:23:00Z', 'GET http://a.example/ HTTP/1.1'),
        ['2018-07-02T22:23:00.000000Z', '10.0.0.1', 'GET', 'http://a.example/'],
      ],
      [
        'a huge path',
        alb('10.0.0.1:40914', TA, `GET http://a.example${HUGE} HTTP/1.1`),
        [TA, '10.0.0.1', 'GET', `http://a.example${HUGE}`],
      ],
      ['an empty line', '', 'nothing'],
      ['cut off', `http ${TA} app/my-lb/50dc 192.168.131.39:28`, { bad: 'cut off' }],
      ['a time that is none', alb('10.0.0.1:40914', 'now', 'GET http://a.example/ HTTP/1.1'), { bad: 'time' }],
    ],
  },
  {
    format: 'cloudfront',
    head: [
      '#Version: 1.0',
      '#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query',
    ],
    rows: [
      [
        'plain',
        front(
          '2019-12-04',
          '21:02:31',
          'LAX1',
          '392',
          '192.0.2.100',
          'GET',
          'd111.cloudfront.net',
          '/index.html',
          '200',
          '-',
          'Mozilla/5.0%20(x)',
          'a=1',
        ),
        [TC, '192.0.2.100', 'GET', '/index.html'],
      ],
      [
        'IPv6',
        front('2019-12-04', '21:02:31', 'LAX1', '392', '2001:db8::1', 'GET', 'd111', '/', '200', '-', '-', '-'),
        [TC, '2001:db8::1', 'GET', '/'],
      ],
      [
        'escaped twice',
        front(
          '2019-12-04',
          '21:02:31',
          'LAX1',
          '392',
          '192.0.2.1',
          'GET',
          'd111',
          '/%2522x%2522',
          '200',
          '-',
          '-',
          '-',
        ),
        [TC, '192.0.2.1', 'GET', '/%2522x%2522'],
      ],
      [
        'no method',
        front('2019-12-04', '21:02:31', 'LAX1', '392', '192.0.2.1', '-', 'd111', '/', '200', '-', '-', '-'),
        [TC, '192.0.2.1', null, '/'],
      ],
      [
        'no address',
        front('2019-12-04', '21:02:31', 'LAX1', '392', '-', 'GET', 'd111', '/', '200', '-', '-', '-'),
        [TC, null, 'GET', '/'],
      ],
      [
        'an edge of three letters and digits',
        front('2019-12-04', '21:02:31', 'FRA56-P4', '392', '192.0.2.1', 'GET', 'd111', '/', '200', '-', '-', '-'),
        [TC, '192.0.2.1', 'GET', '/'],
      ],
      [
        'a huge path',
        front('2019-12-04', '21:02:31', 'LAX1', '392', '192.0.2.1', 'GET', 'd111', HUGE, '200', '-', '-', '-'),
        [TC, '192.0.2.1', 'GET', HUGE],
      ],
      [
        'a fraction',
        front('2019-12-04', '21:02:31.5', 'LAX1', '392', '192.0.2.1', 'GET', 'd111', '/', '200', '-', '-', '-'),
        ['2019-12-04T21:02:31.500000Z', '192.0.2.1', 'GET', '/'],
      ],
      ['a comment', '#Software: something', 'nothing'],
      ['an empty line', '', 'nothing'],
      ['cut off', front('2019-12-04', '21:02:31', 'LAX1'), { bad: 'columns' }],
      [
        'no day',
        front('-', '21:02:31', 'LAX1', '392', '192.0.2.1', 'GET', 'd111', '/', '200', '-', '-', '-'),
        { bad: 'time' },
      ],
      [
        'an hour that no clock has',
        front('2019-12-04', '25:02:31', 'LAX1', '392', '192.0.2.1', 'GET', 'd111', '/', '200', '-', '-', '-'),
        { bad: 'time' },
      ],
    ],
  },
  {
    format: 'caddy',
    rows: jsonRows((ts, client_ip, method, uri) => ({
      level: 'info',
      ts,
      logger: 'http.log.access',
      request: {
        remote_ip: '10.9.9.9',
        client_ip,
        method,
        host: 'localhost',
        uri,
        headers: { 'User-Agent': ['curl "x"'], A: [] },
      },
      duration: 0.0009,
      status: 200,
    })),
  },
  {
    format: 'traefik-json',
    rows: jsonRows((StartUTC, ClientHost, RequestMethod, RequestPath) => ({
      ClientAddr: '10.9.9.9:1',
      ClientHost,
      Duration: 123,
      RequestMethod,
      RequestPath,
      StartUTC,
    })),
  },
  {
    format: 'cloudflare',
    rows: jsonRows((EdgeStartTimestamp, ClientIP, ClientRequestMethod, ClientRequestURI) => ({
      ClientIP,
      ClientRequestHost: 'a.example',
      ClientRequestMethod,
      ClientRequestURI,
      EdgeResponseStatus: 200,
      EdgeStartTimestamp,
    })),
  },
  {
    format: 'envoy-json',
    rows: jsonRows((start_time, x_forwarded_for, method, path) => ({
      start_time,
      method,
      path,
      x_forwarded_for,
      response_code: 200,
      response_flags: '-',
      downstream_remote_address: null,
    })),
  },
  {
    format: 'json',
    rows: jsonRows((time, ip, method, path) => ({
      level: 'info',
      time,
      ip,
      method,
      path,
      nested: { a: [1, { b: 2 }] },
    })),
  },
  {
    format: 'csv',
    head: [csvHead],
    rows: [
      ['plain', '2015-05-17 10:05:03,83.149.9.216,GET,/a?b=1', [T, '83.149.9.216', 'GET', '/a?b=1']],
      [
        'seven digits of a second',
        '2015-05-17 10:05:03.6805900,10.0.0.1,GET,/',
        ['2015-05-17T10:05:03.680590Z', '10.0.0.1', 'GET', '/'],
      ],
      ['IPv6', '2015-05-17 10:05:03,2001:db8::1,GET,/', [T, '2001:db8::1', 'GET', '/']],
      ['quotes around everything', '"2015-05-17 10:05:03","10.0.0.1","GET","/a,b"', [T, '10.0.0.1', 'GET', '/a,b']],
      ['quotes in quotes', '2015-05-17 10:05:03,10.0.0.1,GET,"/""a"""', [T, '10.0.0.1', 'GET', '/""a""']],
      ['another zone', '2015-05-17T12:35:03+02:30,10.0.0.1,GET,/', [T, '10.0.0.1', 'GET', '/']],
      ['a number of seconds', '1431857103,10.0.0.1,GET,/', [T, '10.0.0.1', 'GET', '/']],
      ['empty columns', '2015-05-17 10:05:03,10.0.0.1,,', [T, '10.0.0.1', null, null]],
      ['a huge path', `2015-05-17 10:05:03,10.0.0.1,GET,${HUGE}`, [T, '10.0.0.1', 'GET', HUGE]],
      ['the names again, as of files put together', csvHead, 'nothing'],
      ['an empty line', '', 'nothing'],
      ['too few columns', '2015-05-17 10:05:03,10.0.0.1', { bad: 'columns' }],
      ['a quote without an end', '2015-05-17 10:05:03,10.0.0.1,GET,"/a', { bad: 'quote' }],
      ['a time that is none', 'soon,10.0.0.1,GET,/', { bad: 'time' }],
    ],
  },
];
