/**
 * The hops that X-Forwarded-For and Forwarded (RFC 7239) name, read from the right. What stands at the right was written by
 * our own proxies; everything left of it may be the client's invention, so it is never looked at before the walk arrives
 * there: no open quote at the left can swallow an honest hop at the right. Some proxies have a header of their own for the client
 * alone: that is a list of one.
 */

/** How to take a header apart from its end. */
export interface HopSyntax {
  /** Where the last hop before `end` begins; 0 when it is the only one. */
  startOfLast(value: string, end: number): number;
  /** The node a hop names, as text; undefined when it is malformed. */
  nodeOf(hop: string): string | undefined;
  /** Whether the last hop is the client, however many proxies there are. */
  readonly isClientAlone?: boolean;
}

const ADDRESSES: HopSyntax = {
  startOfLast: (value, end) => (end > 0 ? value.lastIndexOf(',', end - 1) + 1 : 0),
  nodeOf: (hop) => hop.trim(),
};

const CLIENT_ALONE: HopSyntax = { ...ADDRESSES, isClientAlone: true };

export const HOP_SYNTAX = {
  'x-forwarded-for': ADDRESSES,
  forwarded: { startOfLast: startOfLastElement, nodeOf: forNodeOf },
  'x-real-ip': CLIENT_ALONE,
  'cf-connecting-ip': CLIENT_ALONE,
  'true-client-ip': CLIENT_ALONE,
  'fly-client-ip': CLIENT_ALONE,
} satisfies Record<string, HopSyntax>;

/** After the last comma that is not in quotes, quotes being matched from the right. */
function startOfLastElement(value: string, end: number): number {
  let inQuotes = false;
  for (let at = end - 1; at >= 0; at--) {
    if (value[at] === '"' && !(inQuotes && isEscaped(value, at))) inQuotes = !inQuotes;
    else if (value[at] === ',' && !inQuotes) return at + 1;
  }
  return 0;
}

function isEscaped(value: string, at: number): boolean {
  let backslashes = 0;
  while (value[at - 1 - backslashes] === '\\') backslashes++;
  return backslashes % 2 === 1;
}

/**
 * One `name=value` of an element and what separates it from the next, between which there may be nothing. Brackets without quotes are
 * wrong, but meant well.
 */
const PAIR = /[\s;]*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;=]+))\s*(?:$|;[\s;]*)/y;

/** The value of `for` in one element: `for="[2001:db8::17]:4711";proto=https`. It may stand there only once. */
function forNodeOf(element: string): string | undefined {
  let node: string | undefined;
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < element.length) {
    const [, name, quoted, bare] = PAIR.exec(element) ?? [];
    if (name === undefined) return undefined;
    if (name.toLowerCase() !== 'for') continue;
    if (node !== undefined) return undefined;
    node = bare ?? quoted!.replace(/\\(.)/g, '$1');
  }
  return node;
}
