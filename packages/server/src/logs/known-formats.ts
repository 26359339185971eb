/** The formats by name, and how each names its fields. */
import { type Columns, columnsReader, csvColumns, w3cColumns } from './columns-lines.ts';
import { haproxyReader } from './haproxy.ts';
import { jsonReader } from './json-lines.ts';
import { FIELD_NAMES, type FieldName, FormatError, type LineFormat } from './line-format.ts';
import { templateOf } from './log-format-text.ts';
import { templateReader } from './text-lines.ts';

/** A field under another name of the log: `time=TIMESTAMP`. */
export type FieldMap = Readonly<Record<string, string>>;

const COMBINED = '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"';
const ENVOY_DEFAULT =
  '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% ' +
  '%DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"';
const ISTIO_DEFAULT =
  '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% ' +
  '%CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% ' +
  '%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"';
/** nginx's words for what is in the log of an AWS load balancer. */
const ALB =
  '$type $time_iso8601 $elb $remote_addr $target_port $request_processing_time $request_time $response_processing_time $status ' +
  '$target_status_code $received_bytes $sent_bytes "$request" "$http_user_agent" $ssl_cipher $ssl_protocol $target_group_arn "$trace_id" "$host"';

const ELB =
  '$time_iso8601 $elb $remote_addr $backend_port $request_processing_time $request_time $response_processing_time $status ' +
  '$backend_status_code $received_bytes $sent_bytes "$request" "$http_user_agent"';

/** A template of text. */
export function textFormat(name: string, about: string, setting: string, hasPort = false): LineFormat {
  const template = templateOf(setting);
  const isEnvoy = template.server === 'envoy';
  return {
    name,
    about,
    isText: true,
    hasLooseAddresses: isEnvoy,
    reader: (wanted) => templateReader(template, wanted, { hasPort }),
  };
}

type Paths = Partial<Readonly<Record<FieldName, readonly string[]>>>;

/** Where each server's JSON has what all formats share. */
const JSON_PATHS = {
  caddy: {
    time: ['ts'],
    ip: ['request.client_ip', 'request.remote_ip', 'request.remote_addr'],
    method: ['request.method'],
    path: ['request.uri'],
    status: ['status'],
    duration: ['duration'],
    user: ['user_id'],
    host: ['request.host'],
  },
  'traefik-json': {
    time: ['StartUTC', 'StartLocal', 'time'],
    ip: ['ClientHost', 'ClientAddr'],
    method: ['RequestMethod'],
    path: ['RequestPath'],
    status: ['DownstreamStatus', 'OriginStatus'],
    duration: ['Duration'],
    user: ['ClientUsername'],
    host: ['RequestHost', 'RequestAddr'],
  },
  cloudflare: {
    time: ['EdgeStartTimestamp', 'EdgeEndTimestamp', 'Datetime'],
    ip: ['ClientIP'],
    method: ['ClientRequestMethod'],
    path: ['ClientRequestURI', 'ClientRequestPath'],
    status: ['EdgeResponseStatus'],
    duration: ['EdgeTimeToFirstByteMs'],
    host: ['ClientRequestHost'],
  },
  sluice: {
    time: ['time'],
    ip: ['ip'],
    method: ['method'],
    path: ['path', 'policy'],
    user: ['key'],
  },
  'envoy-json': {
    time: ['start_time', 'startTime', 'timestamp'],
    ip: ['x_forwarded_for', 'xForwardedFor', 'downstream_remote_address', 'downstreamRemoteAddress', 'client_ip'],
    method: ['method', 'requestMethod'],
    path: ['path', 'x_envoy_original_path', 'request_path'],
    status: ['response_code', 'responseCode'],
    duration: ['duration'],
    host: ['authority', ':authority'],
  },
  json: {
    time: [
      'time',
      'timestamp',
      '@timestamp',
      'ts',
      'time_iso8601',
      'time_local',
      'msec',
      'date',
      'datetime',
      'start_time',
      'eventTime',
    ],
    ip: [
      'ip',
      'remote_addr',
      'client_ip',
      'clientIp',
      'clientip',
      'remote_ip',
      'remoteIp',
      'remoteAddress',
      'client',
      'httpRequest.remoteIp',
      'client.ip',
      'source.ip',
      'req.remoteAddress',
      'req.ip',
      'request.remote_ip',
      'x_forwarded_for',
      'http_x_forwarded_for',
    ],
    method: [
      'method',
      'request_method',
      'requestMethod',
      'verb',
      'http.method',
      'httpRequest.requestMethod',
      'http.request.method',
      'req.method',
    ],
    path: [
      'path',
      'uri',
      'url',
      'request_uri',
      'requestUri',
      'request',
      'httpRequest.requestUrl',
      'url.path',
      'http.target',
      'url.original',
      'req.url',
    ],
    status: ['status', 'status_code', 'statusCode', 'response', 'http.status_code', 'httpRequest.status'],
    duration: ['duration', 'request_time', 'latency', 'responseTime'],
    user: ['user', 'user_id', 'userId', 'remote_user', 'key'],
    host: ['host', 'hostname', 'http_host', 'server_name'],
  },
} as const satisfies Readonly<Record<string, Paths>>;

const JSON_ABOUT: Readonly<Record<keyof typeof JSON_PATHS, string>> = {
  caddy: 'Caddy (JSON)',
  'traefik-json': 'Traefik (JSON)',
  cloudflare: 'Cloudflare Logpush',
  sluice: 'a recording of Sluice',
  'envoy-json': 'Envoy (JSON)',
  json: 'JSON lines',
};

function jsonFormat(name: keyof typeof JSON_PATHS, fields: FieldMap): LineFormat {
  const known: Paths = JSON_PATHS[name];
  const pathsOf = (field: string): readonly string[] =>
    fields[field] === undefined ? (known[field as FieldName] ?? [field]) : [fields[field]];
  return {
    name,
    about: JSON_ABOUT[name],
    hasLooseAddresses: true,
    reader: (wanted) => jsonReader(wanted.map(pathsOf)),
  };
}

/** Columns of CSV that mean what all formats share, in lower case and without anything but letters and digits. */
const COLUMN_NAMES: Readonly<Record<FieldName, readonly string[]>> = {
  time: ['time', 'timestamp', 'ts', 'datetime', 'date', 'starttime', 'createdat'],
  ip: ['ip', 'clientip', 'remoteaddr', 'remoteip', 'client', 'cip', 'address', 'sourceip'],
  method: ['method', 'requestmethod', 'csmethod', 'verb'],
  path: ['path', 'uri', 'url', 'requesturi', 'csuristem', 'route', 'request'],
  status: ['status', 'statuscode', 'scstatus'],
  duration: ['duration', 'timetaken', 'latency'],
  user: ['user', 'userid', 'username', 'csusername', 'key', 'apikey'],
  host: ['host', 'hostname', 'cshost', 'xhostheader'],
};

function columnsFormat(name: string, about: string, columns: Columns, fields: FieldMap, date?: string): LineFormat {
  const columnOf = (field: string): number => {
    const exact = columns.names.indexOf(fields[field] ?? field);
    if (exact >= 0) return exact;
    const known: readonly string[] = fields[field] === undefined ? (COLUMN_NAMES[field as FieldName] ?? []) : [];
    const plain = columns.names.map((column) => column.toLowerCase().replace(/[^a-z0-9]/g, ''));
    const found = known.map((each) => plain.indexOf(each)).find((index) => index >= 0);
    if (found !== undefined) return found;
    throw new FormatError(
      `the log has no column for ${JSON.stringify(fields[field] ?? field)}. It has ${columns.names.join(', ')}. ` +
        `${field === 'ip' ? '--key takes another, such as everyone or field:NAME.' : `--field ${field}=NAME names it.`}`,
    );
  };
  return {
    name,
    about,
    hasLooseAddresses: true,
    reader(wanted) {
      const indices = wanted.map(columnOf);
      if (date === undefined) return columnsReader(columns, indices);
      return columnsReader(columns, [...indices, columns.names.indexOf(date)], wanted.length);
    },
  };
}

/** The first lines of a log: those that name its columns are among them. */
export type FirstLines = readonly string[];

type MakeFormat = (lines: FirstLines, fields: FieldMap) => LineFormat;

const json =
  (name: keyof typeof JSON_PATHS): MakeFormat =>
  (_, fields) =>
    jsonFormat(name, fields);

/** By the names that `--format` takes. */
export const FORMATS: Readonly<Record<string, MakeFormat>> = {
  combined: () => textFormat('combined', 'nginx or Apache, combined', COMBINED),
  common: () => textFormat('common', 'nginx or Apache, common', '%h %l %u %t "%r" %>s %b'),
  vhost: (lines) => {
    const hasPort = lines.length === 0 || /^\S+:\d+ /.test(lines[0]!);
    return textFormat('vhost', 'Apache, combined with virtual host', `${hasPort ? '%v:%p' : '%v'} ${COMBINED}`);
  },
  traefik: () => textFormat('traefik', 'Traefik (text)', COMBINED),
  envoy: () => textFormat('envoy', 'Envoy (text)', ENVOY_DEFAULT),
  istio: () => textFormat('istio', 'Envoy of Istio (text)', ISTIO_DEFAULT),
  alb: () => textFormat('alb', 'AWS Application Load Balancer', ALB, true),
  elb: () => textFormat('elb', 'AWS Classic Load Balancer', ELB, true),
  haproxy: () => ({
    name: 'haproxy',
    about: 'HAProxy (HTTP)',
    hasLooseAddresses: false,
    reader: haproxyReader,
  }),
  cloudfront: (lines, fields) => {
    const fieldsLine = lines.find((line) => /^#Fields:/i.test(line));
    if (fieldsLine === undefined) throw new FormatError('the log has no line #Fields: that names its columns');
    const columns = w3cColumns(
      fieldsLine,
      lines.find((line) => !line.startsWith('#')),
    );
    const names = { path: 'cs-uri-stem', ip: 'c-ip', method: 'cs-method', status: 'sc-status', ...fields };
    const about = columns.names.includes('x-edge-location') ? 'CloudFront' : 'columns of #Fields: (W3C)';
    return columnsFormat('cloudfront', about, columns, names, columns.names.includes('date') ? 'date' : undefined);
  },
  csv: (lines, fields) => {
    const [header] = lines;
    if (header === undefined) throw new FormatError('the log has no first line that names its columns');
    return columnsFormat('csv', 'CSV', csvColumns(header), fields);
  },
  caddy: json('caddy'),
  'traefik-json': json('traefik-json'),
  cloudflare: json('cloudflare'),
  'envoy-json': json('envoy-json'),
  sluice: json('sluice'),
  json: json('json'),
};

export const FORMAT_NAMES: readonly string[] = Object.keys(FORMATS);

/** Whether a name means the same in every format. */
export function isShared(name: string): name is FieldName {
  return (FIELD_NAMES as readonly string[]).includes(name);
}
