/**
 * Lines of JSON, read by their bytes: keys are compared as they stand, values that nobody wants are skipped without being decoded. A field is
 * wanted by one of several paths; the first path that a line has wins.
 */
import { bytesOf, LINE, type LineReader, type Spans } from './line-format.ts';
import { bad } from './text-lines.ts';

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
/** Deeper than anybody logs: a line cannot make the reader call itself without end. */
const MOST_DEPTH = 64;

/** What is wanted below a key. */
interface Node {
  readonly key: Uint8Array;
  /** The field, and how good this path is among those of the field: 0 is the best. -1 when only what is below it is wanted. */
  field: number;
  rank: number;
  readonly below: Node[];
}

/** Fields by the paths they may have, such as `request.remote_ip`. A path whose name has dots itself is also found as it stands. */
export function jsonReader(paths: readonly (readonly string[])[]): LineReader {
  const roots: Node[] = [];
  for (const [field, ways] of paths.entries()) {
    for (const [rank, way] of ways.entries()) {
      addPath(roots, way.split('.'), field, rank);
      if (way.includes('.')) addPath(roots, [way], field, rank);
    }
  }
  const scanner = new Scanner(roots, paths.length);
  return { dateField: -1, read: (bytes, start, end, spans) => scanner.read(bytes, start, end, spans) };
}

function addPath(nodes: Node[], [name, ...rest]: readonly string[], field: number, rank: number): void {
  const key = bytesOf(name!);
  let node = nodes.find((known) => isSame(known.key, key, 0, key.length));
  if (node === undefined) {
    node = { key, field: -1, rank: 0, below: [] };
    nodes.push(node);
  }
  if (rest.length > 0) addPath(node.below, rest, field, rank);
  else if (node.field < 0) {
    node.field = field;
    node.rank = rank;
  }
}

function isSame(key: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== key.length) return false;
  for (let index = 0; index < key.length; index += 1) if (bytes[start + index] !== key[index]) return false;
  return true;
}

class Scanner {
  readonly #roots: readonly Node[];
  readonly #ranks: Uint8Array;
  #bytes: Uint8Array = new Uint8Array();
  #end = 0;
  /** Whether the text that was last skipped has escapes. */
  #isEscaped = false;

  constructor(roots: readonly Node[], fields: number) {
    this.#roots = roots;
    this.#ranks = new Uint8Array(fields);
  }

  read(bytes: Uint8Array, start: number, end: number, spans: Spans): number {
    this.#bytes = bytes;
    this.#end = end;
    this.#ranks.fill(255);
    const at = this.#space(start);
    if (at >= end) return LINE.nothing;
    if (bytes[at] !== OPEN_OBJECT) return bad(spans, 'is no object of JSON');
    const after = this.#object(at, this.#roots, spans, 0);
    if (after < 0 || this.#space(after) < end) return bad(spans, 'is cut off, or no JSON');
    return LINE.request;
  }

  #space(from: number): number {
    let at = from;
    while (at < this.#end && this.#bytes[at]! <= 32) at += 1;
    return at;
  }

  /** All of them answer where the value ends, or -1. */
  #object(open: number, nodes: readonly Node[], spans: Spans, depth: number): number {
    const bytes = this.#bytes;
    let at = this.#space(open + 1);
    if (bytes[at] === CLOSE_OBJECT && at < this.#end) return at + 1;
    while (at < this.#end) {
      if (bytes[at] !== QUOTE) return -1;
      const keyEnd = this.#text(at);
      if (keyEnd < 0) return -1;
      const node = nodeOf(nodes, bytes, at + 1, keyEnd - 1);
      at = this.#space(keyEnd);
      if (at >= this.#end || bytes[at] !== COLON) return -1;
      at = this.#value(this.#space(at + 1), node, spans, depth + 1);
      if (at < 0) return -1;
      at = this.#space(at);
      if (at >= this.#end) return -1;
      if (bytes[at] === CLOSE_OBJECT) return at + 1;
      if (bytes[at] !== COMMA) return -1;
      at = this.#space(at + 1);
    }
    return -1;
  }

  #value(at: number, node: Node | undefined, spans: Spans, depth: number): number {
    if (at >= this.#end || depth > MOST_DEPTH) return -1;
    switch (this.#bytes[at]) {
      case OPEN_OBJECT:
        return this.#object(at, node?.below ?? NOTHING, spans, depth);
      case OPEN_LIST:
        return this.#list(at, node, spans, depth);
      case QUOTE: {
        const after = this.#text(at);
        if (after >= 0 && node !== undefined && node.field >= 0) this.#take(node, at + 1, after - 1, spans);
        return after;
      }
      default:
        return this.#word(at, node, spans);
    }
  }

  /** Of a list the first value is meant. */
  #list(open: number, node: Node | undefined, spans: Spans, depth: number): number {
    let at = this.#space(open + 1);
    if (this.#bytes[at] === CLOSE_LIST && at < this.#end) return at + 1;
    for (let wanted = node; at < this.#end; wanted = undefined) {
      at = this.#value(at, wanted, spans, depth + 1);
      if (at < 0) return -1;
      at = this.#space(at);
      if (at >= this.#end) return -1;
      if (this.#bytes[at] === CLOSE_LIST) return at + 1;
      if (this.#bytes[at] !== COMMA) return -1;
      at = this.#space(at + 1);
    }
    return -1;
  }

  /** A number, true, false or null. */
  #word(start: number, node: Node | undefined, spans: Spans): number {
    const bytes = this.#bytes;
    let at = start;
    while (at < this.#end && isWord(bytes[at]!)) at += 1;
    if (at === start) return -1;
    // null says nothing.
    if (node !== undefined && node.field >= 0 && bytes[start] !== 110) {
      this.#isEscaped = false;
      this.#take(node, start, at, spans);
    }
    return at;
  }

  /** From quote to quote. */
  #text(open: number): number {
    const bytes = this.#bytes;
    this.#isEscaped = false;
    for (let at = open + 1; at < this.#end; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) {
        this.#isEscaped = true;
        at += 1;
      }
    }
    return -1;
  }

  #take({ field, rank }: Node, start: number, end: number, spans: Spans): void {
    // An empty text, and the dash of Envoy and Traefik, say nothing.
    if (this.#ranks[field]! <= rank || start === end || (end - start === 1 && this.#bytes[start] === 45)) return;
    this.#ranks[field] = rank;
    spans.set(field, start, end);
    const bit = 1 << field;
    spans.escaped = this.#isEscaped ? spans.escaped | bit : spans.escaped & ~bit;
  }
}

const NOTHING: readonly Node[] = [];

function nodeOf(nodes: readonly Node[], bytes: Uint8Array, start: number, end: number): Node | undefined {
  for (let index = 0; index < nodes.length; index += 1) {
    if (isSame(nodes[index]!.key, bytes, start, end)) return nodes[index];
  }
  return undefined;
}

/** Letters, digits, and what numbers have besides. */
function isWord(byte: number): boolean {
  return (
    (byte >= 48 && byte <= 57) ||
    (byte >= 97 && byte <= 122) ||
    (byte >= 65 && byte <= 90) ||
    byte === 43 ||
    byte === 45 ||
    byte === 46
  );
}
