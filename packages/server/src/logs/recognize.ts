/** Which format a log has, from its first lines: every format is tried that looks right, and the one that reads the most of them is taken. */
import { afterWords, wordsBefore } from './after-words.ts';
import { type FieldMap, type FirstLines, FORMAT_NAMES, FORMATS, textFormat } from './known-formats.ts';
import { bytesOf, FormatError, LINE, type LineFormat, Spans } from './line-format.ts';
import { TimeReader } from './times.ts';

/** What is known of a log besides its lines. */
export interface FormatOptions {
  /** A name such as `combined`, or the setting of the server that wrote it: `$remote_addr - $remote_user [$time_local] ...`. */
  readonly format?: string | undefined;
  /** Fields by the names that the log has for them: `{ time: 'TIMESTAMP' }`. */
  readonly fields?: FieldMap | undefined;
}

/** How many lines are looked at. */
export const FIRST_LINES = 50;

/** Throws a `FormatError` that says what to do. */
export function formatOf(lines: FirstLines, { format, fields = {} }: FormatOptions = {}): LineFormat {
  if (format === undefined) return renamed(recognized(lines, fields), fields);
  const make = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (make !== undefined) return renamed(make(lines, fields), fields);
  if (/[$%]/.test(format)) return renamed(textFormat('log_format', 'the format you gave', format), fields);
  throw new FormatError(
    `there is no format ${JSON.stringify(format)}. There are ${FORMAT_NAMES.join(', ')}, or give the log_format of your server.`,
  );
}

/** JSON and columns look fields up by the names that were given for them; a text has one name for each place. */
function renamed(format: LineFormat, fields: FieldMap): LineFormat {
  if (!format.isText) return format;
  return { ...format, reader: (wanted) => format.reader(wanted.map((name) => fields[name] ?? name)) };
}

/** The beginning of a time in brackets. */
const CLF_TIME = '\\[(?:\\d\\d/\\w{3}/\\d{4}:|\\d{4}-\\d\\d-\\d\\dT)';

/** What Docker writes of a line of a container. */
const DOCKER = /^\s*\{"log":".*"stream":"/;

/** Formats that other programs write words before. */
const CLF = ['combined', 'common'];

/** Words that only one server writes. */
const MARKS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['cloudfront', /^#(?:Version|Fields):/i],
  ['sluice', /^\s*\{"time":"[^"]+","policy":/],
  ['cloudflare', /^\s*\{.*"(?:ClientRequestURI|EdgeStartTimestamp|EdgeResponseStatus|ClientRequestHost)"/],
  [
    'traefik-json',
    /^\s*\{.*"(?:ClientHost|ClientAddr)".*"RequestMethod"|^\s*\{.*"RequestMethod".*"(?:ClientHost|ClientAddr|StartUTC)"/,
  ],
  ['caddy', /^\s*\{.*"request":\s*\{.*"(?:remote_ip|remote_addr|client_ip)"/],
  ['envoy-json', /^\s*\{.*"(?:response_flags|upstream_cluster|downstream_remote_address|upstream_host|responseFlags)"/],
  ['json', /^\s*\{/],
  ['istio', /^\[\d{4}-\d\d-\d\dT[^\]]*\] "[^"]*" \d+ \S+ \S+ \S+ "/],
  ['envoy', /^\[\d{4}-\d\d-\d\dT[^\]]*\] "/],
  ['alb', /^(?:https?|h2|grpcs|wss?) \d{4}-\d\d-\d\dT\S+Z \S+ \S+:\d+ /],
  ['haproxy', /(?:^|\s)\S+:\d+ \[\d\d\/\w{3}\/\d{4}:\d\d:\d\d:\d\d\.\d{3}\] /],
  ['elb', /^\d{4}-\d\d-\d\dT\S+Z \S+ \S+:\d+ \S+ [-\d.]+ [-\d.]+ [-\d.]+ /],
  ['vhost', new RegExp(`^\\S+:\\d+ \\S+ \\S+ .*? ${CLF_TIME}`)],
  ['traefik', new RegExp(`^\\S+ \\S+ .* ${CLF_TIME}[^\\]]*\\] ".*" \\d+ \\d+ "[^"]*" "[^"]*" \\d+ ".*" ".*" \\d+ms`)],
  ['combined', new RegExp(`^\\S+ \\S+ .*?${CLF_TIME}[^\\]]*\\] "[^"]*(?:\\\\.[^"]*)*" \\S+ \\S+ "`)],
  ['common', new RegExp(`^\\S+ \\S+ .*?${CLF_TIME}`)],
];

function recognized(lines: FirstLines, fields: FieldMap): LineFormat {
  const full = lines.filter((line) => line.trim() !== '');
  if (full.length === 0) throw new FormatError('the log is empty');
  const votes = new Map<string, number>();
  for (const line of full) {
    const [name] = MARKS.find(([, pattern]) => pattern.test(line)) ?? [];
    if (name !== undefined) votes.set(name, (votes.get(name) ?? 0) + 1);
  }
  // One line of #Fields: names the columns of all others.
  const isNamed = votes.has('cloudfront');
  const [best] = isNamed ? ['cloudfront'] : [...votes].sort(([, one], [, other]) => other - one).map(([name]) => name);
  if (best !== undefined && (isNamed || votes.get(best)! * 2 >= full.length)) {
    if (best === 'json' && DOCKER.test(full[0]!)) {
      throw new FormatError('it is wrapped in JSON by Docker. Unwrap it: jq -rj .log FILE | sluice backtest - ...');
    }
    const format = CLF.includes(best) ? clfOf(best, full) : FORMATS[best]!(lines, fields);
    const read = best === 'cloudfront' ? full.filter((line) => !line.startsWith('#')) : full;
    if (read.length === 0 || hasTimes(format, read)) return format;
    if (best === 'json') throw new FormatError(jsonProblem(full));
  }
  const csv = csvOf(lines, fields);
  if (csv !== undefined) return csv;
  if (full.length > 1 && /^[\w "]+(?:[,;\t|][\w "]+)+$/.test(full[0]!) && !/\d{3}/.test(full[0]!)) {
    throw new FormatError(
      `the log looks like CSV, and none of its columns ${full[0]!.slice(0, 200)} has times that can be read: ISO 8601 or Unix time. ` +
        'Name the column: --field time=NAME.',
    );
  }
  throw new FormatError(
    `the format is not known. Its first line is ${JSON.stringify(full[0]!.slice(0, 120))}. Name it with --format: ` +
      `${FORMAT_NAMES.join(', ')}, or the log_format of your server.`,
  );
}

/** With a virtual host before the address, or what syslog or a container runtime writes there. */
function clfOf(name: string, full: FirstLines): LineFormat {
  const words = wordsBefore(full);
  const isHost = words === 1 && full.every((line) => /^[\w-]+(?:\.[\w-]+)+ /.test(line));
  return isHost && name === 'combined' ? FORMATS.vhost!(full, {}) : afterWords(words, FORMATS[name]!(full, {}));
}

function jsonProblem(full: FirstLines): string {
  return `the log is JSON, and its time was not found. Name its fields: --field time=NAME. ${keysIn(full[0]!)}`;
}

function keysIn(line: string): string {
  try {
    return `It has ${Object.keys(JSON.parse(line) as object)
      .slice(0, 20)
      .join(', ')}.`;
  } catch {
    return '';
  }
}

/** The first line names columns, one of them has times. */
function csvOf(lines: FirstLines, fields: FieldMap): LineFormat | undefined {
  const [header, ...rest] = lines;
  if (header === undefined || !/^[^,;\t|]+(?:[,;\t|][^,;\t|]*)+$/.test(header)) return undefined;
  try {
    const format = FORMATS.csv!(lines, fields);
    return hasTimes(format, rest) ? format : undefined;
  } catch {
    return undefined;
  }
}

/** The earliest time of some lines, in microseconds; -Infinity when none has one. */
export function firstTime(format: LineFormat, lines: FirstLines): number {
  const times = timesOf(format, lines).filter((time) => !Number.isNaN(time));
  return times.length === 0 ? Number.NEGATIVE_INFINITY : Math.min(...times);
}

/** Whether at least half of the lines have a time where the format says. */
function hasTimes(format: LineFormat, lines: FirstLines): boolean {
  const good = timesOf(format, lines).filter((time) => !Number.isNaN(time)).length;
  return good * 2 >= lines.filter((line) => line !== '').length && good > 0;
}

/** In microseconds, NaN for a line without one. */
function timesOf(format: LineFormat, lines: FirstLines): number[] {
  const reader = format.reader(['time']);
  const spans = new Spans(2);
  const times = new TimeReader();
  return lines.map((line) => {
    const bytes = bytesOf(line);
    spans.clear();
    if (reader.read(bytes, 0, bytes.length, spans) !== LINE.request || spans.at[0]! < 0) return Number.NaN;
    const [start, end] = [spans.at[0]!, spans.at[1]!];
    if (reader.dateField < 0) return times.read(bytes, start, end);
    return times.readParts(bytes, spans.at[2]!, spans.at[3]!, start, end);
  });
}
