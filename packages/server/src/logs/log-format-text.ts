/**
 * Templates from the setting that a server writes its log by: `log_format` of nginx, `LogFormat` of Apache, `format` of Envoy. Every variable
 * of it is a field, by its own name and by the name that all formats share.
 */
import { FormatError } from './line-format.ts';
import type { Template, TemplatePart } from './text-lines.ts';

/** nginx, by the names of its variables. */
const NGINX: Readonly<Record<string, string>> = {
  remote_addr: 'ip',
  realip_remote_addr: 'ip',
  time_local: 'time',
  time_iso8601: 'time',
  msec: 'time',
  request: 'request',
  request_method: 'method',
  request_uri: 'path',
  uri: 'path',
  status: 'status',
  request_time: 'duration',
  remote_user: 'user',
  host: 'host',
  server_name: 'host',
  http_host: 'host',
};

/** Apache, by the letters of its directives. */
const APACHE: Readonly<Record<string, string>> = {
  h: 'ip',
  a: 'ip',
  t: 'time',
  r: 'request',
  m: 'method',
  U: 'path',
  s: 'status',
  D: 'duration',
  u: 'user',
  v: 'host',
  V: 'host',
};

/** Envoy, by its command operators. */
const ENVOY: Readonly<Record<string, string>> = {
  START_TIME: 'time',
  'REQ(:METHOD)': 'method',
  'REQ(:PATH)': 'path',
  'REQ(X-ENVOY-ORIGINAL-PATH?:PATH)': 'path',
  RESPONSE_CODE: 'status',
  DURATION: 'duration',
  'REQ(X-FORWARDED-FOR)': 'ip',
  DOWNSTREAM_REMOTE_ADDRESS: 'ip',
  DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT: 'ip',
  DOWNSTREAM_DIRECT_REMOTE_ADDRESS: 'ip',
  'REQ(:AUTHORITY)': 'host',
};

interface Found {
  readonly length: number;
  readonly names: readonly string[];
  /** Apache puts its time into brackets. */
  readonly bracketed?: boolean;
}

/** What a setting means, and whose it is. Throws a `FormatError`. */
export function templateOf(written: string): Template & { readonly server: string } {
  // As it stands in a config, between quotes.
  const setting = written.replaceAll('\\"', '"');
  const server = serverOf(setting);
  const parts: TemplatePart[] = [];
  let before = '';
  for (let at = 0; at < setting.length; ) {
    const found = VARIABLE_OF[server](setting.slice(at));
    if (found === undefined) {
      before += setting[at];
      at += 1;
      continue;
    }
    if (parts.length > 0 && before === '') {
      throw new FormatError(
        `the format has nothing between two variables at ${JSON.stringify(setting.slice(at, at + 20))}`,
      );
    }
    parts.push({ before: found.bracketed === true ? `${before}[` : before, names: found.names });
    before = found.bracketed === true ? ']' : '';
    at += found.length;
  }
  const known = new Set(parts.flatMap(({ names }) => names));
  if (!known.has('time')) throw new FormatError('the format has no time: $time_local, $msec, %t or %START_TIME%');
  return { parts: onlyFirst(parts), end: before, server };
}

type Server = 'nginx' | 'apache' | 'envoy';

function serverOf(setting: string): Server {
  if (/\$\w/.test(setting)) return 'nginx';
  if (/%[A-Z_]{4,}(?:\([^)]*\))?%/.test(setting)) return 'envoy';
  if (/%[>\w{]/.test(setting)) return 'apache';
  throw new FormatError(
    'expected a log_format of nginx ($remote_addr ...), a LogFormat of Apache (%h ...) or a format of Envoy',
  );
}

const VARIABLE_OF: Readonly<Record<Server, (text: string) => Found | undefined>> = {
  nginx(text) {
    const [whole, braced, plain] = /^\$(?:\{(\w+)\}|(\w+))/.exec(text) ?? [];
    const name = braced ?? plain;
    return name === undefined ? undefined : { length: whole!.length, names: namesOf(NGINX[name], name) };
  },
  apache(text) {
    const [whole, argument, letter] = /^%[!\d,]*[<>]?(?:\{([^}]*)\})?(\^t[io]|[a-zA-Z])/.exec(text) ?? [];
    if (letter === undefined) return undefined;
    const { length } = whole!;
    if (argument !== undefined) return { length, names: [argumentName(letter, argument)] };
    return { length, names: namesOf(APACHE[letter], letter), bracketed: letter === 't' };
  },
  envoy(text) {
    const [whole, name] = /^%([A-Z0-9_]+(?:\([^)]*\))?)(?::\d+)?%/.exec(text) ?? [];
    if (name === undefined) return undefined;
    const plain = name.startsWith('START_TIME') ? 'START_TIME' : name;
    return { length: whole!.length, names: namesOf(ENVOY[plain.toUpperCase()], name) };
  },
};

/** `%{User-Agent}i` is what nginx calls `$http_user_agent`. */
function argumentName(letter: string, argument: string): string {
  if (letter === 'i') return `http_${argument.toLowerCase().replaceAll('-', '_')}`;
  if (letter === 't') return 'time';
  return argument;
}

function namesOf(shared: string | undefined, own: string): readonly string[] {
  return shared === undefined ? [own] : [shared, own];
}

/** The first field of a name is the one that is meant. */
function onlyFirst(parts: readonly TemplatePart[]): TemplatePart[] {
  const taken = new Set<string>();
  return parts.map(({ before, names }) => {
    const free = names.filter((name) => !taken.has(name));
    for (const name of free) taken.add(name);
    return { before, names: free };
  });
}
