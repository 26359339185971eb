/** Messages out of the bytes of a stream: each has a byte that says whether it is packed, four with its length, and then itself. */
import { gunzipSync, inflateSync } from 'node:zlib';
import { GrpcError, STATUS } from './status.ts';

const PREFIX_BYTES = 5;

/** The packings that are read. Answers are never packed: they are small. */
export const ENCODINGS = 'identity,gzip,deflate';

/** The whole messages that have come, one by one; what has not come whole waits. */
export class MessagesIn {
  readonly #most: number;
  readonly #encoding: string;
  /** Pieces are joined once, when a message is whole: joined one by one, a message of many small pieces would be copied again and again. */
  #pieces: Buffer[] = [];
  #length = 0;
  /** Bytes that must be there before there is anything to do. */
  #needed: number = PREFIX_BYTES;

  constructor(most: number, encoding: string | undefined) {
    this.#most = most;
    this.#encoding = encoding ?? 'identity';
  }

  /** Whether the stream may end here. */
  get isWhole(): boolean {
    return this.#length === 0;
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** Undefined until one is whole. */
  next(): Buffer | undefined {
    if (this.#length < this.#needed) return undefined;
    const bytes = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#length);
    const length = bytes.readUInt32BE(1);
    this.#check(length);
    const end = PREFIX_BYTES + length;
    const isWhole = bytes.length >= end;
    this.#keep(isWhole ? bytes.subarray(end) : bytes, isWhole ? PREFIX_BYTES : end);
    if (!isWhole) return undefined;
    const message = bytes.subarray(PREFIX_BYTES, end);
    return bytes[0] === 0 ? message : this.#unpacked(message);
  }

  #keep(rest: Buffer, needed: number): void {
    this.#pieces = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    this.#needed = needed;
  }

  #check(length: number): void {
    if (length <= this.#most) return;
    throw new GrpcError(
      STATUS.RESOURCE_EXHAUSTED,
      `the message has ${length} bytes, more than the ${this.#most} allowed`,
    );
  }

  #unpacked(message: Buffer): Buffer {
    const unpack = { gzip: gunzipSync, deflate: inflateSync }[this.#encoding];
    if (unpack === undefined) {
      throw new GrpcError(
        STATUS.UNIMPLEMENTED,
        `messages packed by '${this.#encoding}' are not read, only ${ENCODINGS}`,
      );
    }
    try {
      return unpack(message, { maxOutputLength: this.#most });
    } catch (error) {
      const isLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      throw isLarge
        ? new GrpcError(STATUS.RESOURCE_EXHAUSTED, `the message has more than the ${this.#most} bytes allowed`)
        : new GrpcError(STATUS.INTERNAL, 'the message cannot be unpacked');
    }
  }
}

/** The prefix of a message that is not packed, written into the room in front of it. */
export function framed(message: Buffer): Buffer {
  message[0] = 0;
  message.writeUInt32BE(message.length - PREFIX_BYTES, 1);
  return message;
}

/** Room that a writer leaves for the prefix. */
export const FRAME_ROOM = PREFIX_BYTES;
