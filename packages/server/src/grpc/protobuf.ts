/**
 * Protocol buffers, as much of them as a few small messages need: numbers, texts, messages in messages, maps as lists of pairs. The reader takes bytes of strangers:
 * it never reads beyond its message, and everything that is no message is a `ProtobufError`.
 */

/** Bytes that are no message. The text is for the client. */
export class ProtobufError extends Error {}

/** How a value is written. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

const MAX_GROUP_DEPTH = 64;
/** Beyond it, asking the runtime for a text is cheaper than putting it together. */
const MAX_SHORT_TEXT = 32;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Walks over the fields of one message: `next()`, then look at `field` and read its value, or `skip()`. */
export class Reader {
  readonly #bytes: Buffer;
  #at: number;
  #end: number;
  /** Number of the field that `next` has found. */
  field = 0;
  #wire = 0;

  constructor(bytes: Buffer, from = 0, end: number = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = end;
  }

  /** False at the end of the message. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    this.#wire = tag % 8;
    if (this.field === 0 || this.field >= 2 ** 29) throw new ProtobufError('illegal tag');
    return true;
  }

  /** Whether the value of the field is a text, bytes or a message. */
  get isBytes(): boolean {
    return this.#wire === WIRE.bytes;
  }

  /** Beyond 2^53 the last digits are lost. */
  uint64(): number {
    this.#expect(WIRE.varint);
    return this.#varint();
  }

  uint32(): number {
    return this.uint64() % 2 ** 32;
  }

  bool(): boolean {
    return this.uint64() !== 0;
  }

  text(): string {
    const [from, end] = this.#range();
    const bytes = this.#bytes;
    if (end - from > MAX_SHORT_TEXT) return decoded(bytes, from, end);
    let text = '';
    for (let at = from; at < end; at++) {
      const byte = bytes[at]!;
      if (byte >= 0x80) return decoded(bytes, from, end);
      text += String.fromCharCode(byte);
    }
    return text;
  }

  /** A message inside this one. */
  message(): Reader {
    const [from, end] = this.#range();
    return new Reader(this.#bytes, from, end);
  }

  /** Past a field that nobody here knows. */
  skip(): void {
    this.#skip(this.#wire, this.field, 0);
  }

  #skip(wire: number, field: number, depth: number): void {
    if (wire === WIRE.varint) this.#varint();
    else if (wire === WIRE.fixed64) this.#forward(8);
    else if (wire === WIRE.fixed32) this.#forward(4);
    else if (wire === WIRE.bytes) this.#forward(this.#varint());
    else if (wire === WIRE.startGroup && depth < MAX_GROUP_DEPTH) this.#skipGroup(field, depth + 1);
    else throw new ProtobufError('illegal wire type');
  }

  #skipGroup(field: number, depth: number): void {
    for (;;) {
      const tag = this.#varint();
      if (tag % 8 === WIRE.endGroup) {
        if (Math.floor(tag / 8) !== field) throw new ProtobufError('mismatching end of group');
        return;
      }
      this.#skip(tag % 8, Math.floor(tag / 8), depth);
    }
  }

  #expect(wire: number): void {
    if (this.#wire !== wire) throw new ProtobufError('a field has another type');
  }

  #range(): readonly [from: number, end: number] {
    this.#expect(WIRE.bytes);
    const length = this.#varint();
    const from = this.#at;
    this.#forward(length);
    return [from, this.#at];
  }

  #forward(length: number): void {
    if (length > this.#end - this.#at) throw new ProtobufError('unexpected end of message');
    this.#at += length;
  }

  #varint(): number {
    let value = 0;
    let factor = 1;
    for (let index = 0; index < 10; index++) {
      if (this.#at >= this.#end) throw new ProtobufError('unexpected end of message');
      const byte = this.#bytes[this.#at++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw new ProtobufError('a number is too long');
  }
}

/** The runtime's own decoder is quick; only what is no plain ASCII has to be looked at for bytes that are no UTF-8. */
function decoded(bytes: Buffer, from: number, end: number): string {
  try {
    return UTF8.decode(bytes.subarray(from, end));
  } catch {
    throw new ProtobufError('string field contains invalid UTF-8');
  }
}

const INITIAL_BYTES = 1024;
/** A buffer that one answer made large is not kept for all the small ones. */
const KEPT_BYTES = 64 * 1024;

/** Puts a message together. Fields that are zero or empty are left out, as proto3 has it, unless `always` is said. */
export class Writer {
  #bytes: Buffer;
  #at: number;
  readonly #from: number;

  /** `room` bytes are left free in front of the message. */
  constructor(room = 0) {
    this.#bytes = Buffer.allocUnsafe(INITIAL_BYTES);
    this.#from = room;
    this.#at = room;
  }

  uint(field: number, value: number, always = false): void {
    if (value === 0 && !always) return;
    this.#varint(field * 8 + WIRE.varint);
    this.#varint(value);
  }

  bool(field: number, value: boolean, always = false): void {
    this.uint(field, value ? 1 : 0, always);
  }

  double(field: number, value: number): void {
    this.#varint(field * 8 + WIRE.fixed64);
    this.#room(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  text(field: number, value: string, always = false): void {
    if (value === '' && !always) return;
    this.#varint(field * 8 + WIRE.bytes);
    const length = Buffer.byteLength(value);
    this.#varint(length);
    this.#room(length);
    this.#at += this.#bytes.write(value, this.#at);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#varint(field * 8 + WIRE.bytes);
    this.#varint(value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  /** A message inside this one, empty or not. Most are below 128 bytes, and then their length is one byte that is filled in. */
  message<T>(field: number, write: (writer: Writer, value: T) => void, value: T): void {
    this.#varint(field * 8 + WIRE.bytes);
    this.#room(1);
    const from = ++this.#at;
    write(this, value);
    const length = this.#at - from;
    if (length < 0x80) {
      this.#bytes[from - 1] = length;
      return;
    }
    const more = varintLength(length) - 1;
    this.#room(more);
    this.#bytes.copyWithin(from + more, from, this.#at);
    this.#at = from - 1;
    this.#varint(length);
    this.#at += length;
  }

  /** What was written, the room in front included. The writer can be used again. */
  finish(): Buffer {
    const message = Buffer.from(this.#bytes.subarray(0, this.#at));
    this.#at = this.#from;
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(INITIAL_BYTES);
    return message;
  }

  #varint(value: number): void {
    this.#room(10);
    let left = value;
    while (left >= 0x80) {
      this.#bytes[this.#at++] = (left % 0x80) + 0x80;
      left = Math.floor(left / 0x80);
    }
    this.#bytes[this.#at++] = left;
  }

  #room(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

function varintLength(value: number): number {
  let length = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) length += 1;
  return length;
}
