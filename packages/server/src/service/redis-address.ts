/**
 * Where Redis is, in one text, so that one flag and one variable say it for every kind of deployment:
 *
 *     redis://user:password@host:6379/0                      one server; rediss:// with TLS
 *     redis+cluster://user:password@one:6379,two:6379        a cluster, by some of its nodes
 *     redis+sentinel://user:password@one:26379,two:26379/main/0   the master that sentinels know by this name
 */
export interface RedisAddress {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  readonly tls: boolean;
  /** The server, some nodes of the cluster, or the sentinels. */
  readonly nodes: readonly RedisNode[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** A cluster has only 0. */
  readonly database: number;
  /** By which sentinels know the master. */
  readonly master: string | undefined;
}

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

export const ADDRESS_FORMS =
  'redis://host:6379, redis+cluster://one:6379,two:6379 or redis+sentinel://one:26379,two:26379/name (rediss for TLS)';

const ADDRESS = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(?:([^@]*)@)?([^/?#@]+)((?:\/[^/?#]*)*)$/;
const NODE = /^(?:\[([\da-fA-F:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/;
const PORTS = { single: 6379, cluster: 6379, sentinel: 26379 } as const;

/** Throws an error that says what was expected, and nothing of a password. */
export function parseRedisAddress(text: string): RedisAddress {
  const [, protocol, form, credentials, hosts = '', path = ''] = ADDRESS.exec(text) ?? [];
  if (protocol === undefined) throw new Error(`expected ${ADDRESS_FORMS}`);
  const kind = (form ?? 'single') as RedisAddress['kind'];
  const nodes = hosts.split(',').map((host) => nodeOf(host, PORTS[kind]));
  if (kind === 'single' && nodes.length > 1) {
    throw new Error('expected one host; several are redis+cluster:// or redis+sentinel://');
  }
  const words = path.split('/').slice(1).filter(Boolean);
  const master = kind === 'sentinel' ? words.shift() : undefined;
  if (kind === 'sentinel' && master === undefined) throw new Error('expected the name of the master: .../name');
  return {
    ...{ kind, nodes, tls: protocol === 'rediss', master: decoded(master) },
    ...credentialsOf(credentials),
    database: databaseOf(words, kind),
  };
}

function nodeOf(text: string, defaultPort: number): RedisNode {
  const [, six, name, port] = NODE.exec(text.trim()) ?? [];
  const host = six ?? name;
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65535) {
    throw new Error(`expected host:port, got ${JSON.stringify(text)}`);
  }
  return { host, port: number };
}

function credentialsOf(text = ''): Pick<RedisAddress, 'username' | 'password'> {
  const colon = text.indexOf(':');
  if (colon < 0) return { username: decoded(text || undefined), password: undefined };
  return { username: decoded(text.slice(0, colon) || undefined), password: decoded(text.slice(colon + 1)) };
}

function databaseOf(words: readonly string[], kind: RedisAddress['kind']): number {
  const [word = '0', ...more] = words;
  if (more.length > 0 || !/^\d{1,4}$/.test(word)) {
    throw new Error(`expected the number of a database at the end, got ${JSON.stringify(words.join('/'))}`);
  }
  if (kind === 'cluster' && word !== '0') throw new Error('expected no database: a cluster has only one');
  return Number(word);
}

function decoded<T extends string | undefined>(text: T): T {
  try {
    return (text === undefined ? undefined : decodeURIComponent(text)) as T;
  } catch {
    throw new Error('expected %25 for every % in it');
  }
}

/** For people: without credentials. */
export function addressText({ kind, tls, nodes, master, database }: RedisAddress): string {
  const protocol = `redis${tls ? 's' : ''}${kind === 'single' ? '' : `+${kind}`}`;
  const hosts = nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',');
  const path = [...(master === undefined ? [] : [master]), ...(database === 0 ? [] : [database])];
  return `${protocol}://${[hosts, ...path].join('/')}`;
}
