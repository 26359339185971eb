/**
 * Who is a client, from the fields of a line: `ip`, `user | ip`, `ip + route`, `field:NAME`. A plus makes one client of several parts, a bar takes
 * the first that says something; plus binds tighter. Addresses are grouped as the library groups them: IPv6 by its /64.
 */
import { byIp } from 'sluice/http';
import { type KeyTable, PACKED } from './key-table.ts';
import { bytesOf, FormatError, fieldText, type Spans, textOf } from './line-format.ts';

const PARTS = 'ip, user, host, route, method, everyone or field:NAME';

/** A part of a key: what kind it is, and the field it is read from. */
interface KeyPart {
  readonly kind: 'ip' | 'route' | 'text' | 'everyone';
  readonly field: string;
}

/** What a key is made of: the first choice whose parts are all there. */
export type KeyPlan = readonly (readonly KeyPart[])[];

/** Throws a `FormatError` that names the part. */
export function parseKeyPlan(text: string): KeyPlan {
  return text.split('|').map((choice) => choice.split('+').map((part) => partOf(part.trim())));
}

function partOf(part: string): KeyPart {
  if (part === 'ip' || part === 'route') return { kind: part, field: part === 'ip' ? 'ip' : 'path' };
  if (part === 'everyone') return { kind: 'everyone', field: '' };
  if (part === 'user' || part === 'host' || part === 'method') return { kind: 'text', field: part };
  if (part.startsWith('field:') && part.length > 6) return { kind: 'text', field: part.slice(6) };
  throw new FormatError(`expected a key of ${PARTS}, got ${JSON.stringify(part.slice(0, 60))}`);
}

/** The clients of a recording of Sluice are its keys; those of other logs are addresses, unless something else is asked for. */
export function planFor(key: string, format: string): KeyPlan {
  return parseKeyPlan(key === 'ip' && format === 'sluice' ? 'user' : key);
}

export function fieldsOfPlan(plan: KeyPlan): readonly string[] {
  return [...new Set(plan.flat().flatMap(({ field }) => (field === '' ? [] : [field])))];
}

const clientOf = byIp({ trustedProxies: 0 });

/** The name that an address is counted under; as it stands when it is no address. */
export function addressName(text: string): string {
  const last = text.slice(text.lastIndexOf(',') + 1).trim();
  const [, inside] = /^\[([^\]]+)\](?::\d+)?$/.exec(last) ?? [];
  const [, v4] = /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(last) ?? [];
  const ip = inside ?? v4 ?? last;
  const key = clientOf({ method: 'GET', path: '/', ip, header: () => undefined });
  return key === undefined ? ip : key.slice('ip:'.length);
}

const COLON = 58;
const EVERYONE = bytesOf('everyone');
const SEPARATOR = bytesOf(' + ');
/** More of a key than this is not told apart. */
const MOST_KEY_BYTES = 512;

/** Numbers for the clients of a log. */
export class LogKeys {
  readonly table: KeyTable;
  readonly #choices: readonly (readonly { readonly kind: KeyPart['kind']; readonly index: number }[])[];
  readonly #isPlain: boolean;
  readonly #isLoose: boolean;
  /** By number: the number of the name it is counted under, where that is another one. */
  readonly #aliases = new Map<number, number>();
  /** By number: the IPv4 address it is counted under, in a table that packs them. */
  readonly #packed = new Map<number, number>();
  /** Addresses that need a second look, by how they stand in the log. */
  readonly #addresses = new Map<string, Uint8Array>();
  readonly #scratch = new Uint8Array(MOST_KEY_BYTES);

  constructor(plan: KeyPlan, fields: readonly string[], hasLooseAddresses: boolean, table: KeyTable) {
    this.table = table;
    this.#choices = plan.map((parts) => parts.map(({ kind, field }) => ({ kind, index: fields.indexOf(field) })));
    this.#isPlain = plan.length === 1 && plan[0]!.length === 1 && plan[0]![0]!.kind === 'ip';
    this.#isLoose = hasLooseAddresses;
  }

  /** The number of the client of a line; -1 when the line does not say. As `KeyTable.idOf` otherwise. */
  idOf(bytes: Uint8Array, spans: Spans): number {
    if (!this.#isPlain) return this.#compose(bytes, spans);
    const index = this.#choices[0]![0]!.index;
    const start = spans.at[index * 2]!;
    if (start < 0) return -1;
    return this.#addressId(bytes, start, spans.at[index * 2 + 1]!);
  }

  /** After the table has forgotten its texts. */
  forget(): void {
    this.#aliases.clear();
    this.#packed.clear();
  }

  #addressId(bytes: Uint8Array, start: number, end: number): number {
    const { table } = this;
    if (table.isAddress(bytes, start, end)) return table.idOfThat();
    if (isLoose(bytes, start, end, this.#isLoose)) {
      const name = this.#addressBytes(bytes, start, end);
      return table.idOf(name, 0, name.length);
    }
    const id = table.idOf(bytes, start, end);
    if (table.isNew) {
      if (!hasColon(bytes, start, end)) return id;
      const name = bytesOf(addressName(textOf(bytes, start, end)));
      const named = table.idOf(name, 0, name.length);
      if (named !== id) this.#aliases.set(id, named);
      if (named === PACKED) this.#packed.set(id, table.address);
    }
    if (this.#aliases.size === 0 || id === PACKED) return id;
    const named = this.#aliases.get(id) ?? id;
    if (named === PACKED) table.address = this.#packed.get(id)!;
    return named;
  }

  /** The name of an address that has more to it than digits and dots. Known ones are remembered, a bounded number of them. */
  #addressBytes(bytes: Uint8Array, start: number, end: number): Uint8Array {
    const text = textOf(bytes, start, end);
    const known = this.#addresses.get(text);
    if (known !== undefined) return known;
    const name = bytesOf(addressName(text));
    if (this.#addresses.size >= 100_000) this.#addresses.clear();
    this.#addresses.set(text, name);
    return name;
  }

  #compose(bytes: Uint8Array, spans: Spans): number {
    for (const parts of this.#choices) {
      let length = 0;
      for (const { kind, index } of parts) {
        const part = this.#part(kind, index, bytes, spans);
        if (part === undefined) {
          length = -1;
          break;
        }
        if (length > 0) length = this.#append(SEPARATOR, length);
        length = this.#append(part, length);
      }
      if (length >= 0) return this.table.idOf(this.#scratch, 0, length);
    }
    return -1;
  }

  #part(kind: KeyPart['kind'], index: number, bytes: Uint8Array, spans: Spans): Uint8Array | undefined {
    if (kind === 'everyone') return EVERYONE;
    const start = spans.at[index * 2]!;
    if (start < 0) return undefined;
    if ((spans.escaped & (1 << index)) !== 0) return bytesOf(fieldText(bytes, spans, index)!);
    const end = spans.at[index * 2 + 1]!;
    if (kind === 'route') return bytes.subarray(pathStart(bytes, start, end), pathEnd(bytes, start, end));
    if (kind === 'ip' && isLoose(bytes, start, end, true)) return this.#addressBytes(bytes, start, end);
    return bytes.subarray(start, end);
  }

  #append(part: Uint8Array, at: number): number {
    const taken = part.subarray(0, MOST_KEY_BYTES - at);
    this.#scratch.set(taken, at);
    return at + taken.length;
  }
}

/** Whether it is more than an address or a name: a list, or brackets around it; `withColons`, a port may be part of it too. */
function isLoose(bytes: Uint8Array, start: number, end: number, withColons: boolean): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!;
    if (byte === 44 || byte === 32 || byte === 91 || (withColons && byte === COLON)) return true;
  }
  return false;
}

function hasColon(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === COLON) return true;
  return false;
}

/** A path as a proxy is asked for it, `http://host/path`, is the same path. */
export function pathStart(bytes: Uint8Array, start: number, end: number): number {
  if (bytes[start] === 47) return start;
  for (let at = start; at < end - 2 && at < start + 8; at += 1) {
    if (bytes[at] !== COLON || bytes[at + 1] !== 47 || bytes[at + 2] !== 47) continue;
    for (let slash = at + 3; slash < end; slash += 1) if (bytes[slash] === 47) return slash;
    return end;
  }
  return start;
}

/** Without the query. */
export function pathEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at += 1) if (bytes[at] === 63 || bytes[at] === 35) return at;
  return end;
}
