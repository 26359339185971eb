/**
 * A secret 64-bit hash of a key. The table keeps the hash instead of the key, so nobody outside may be able to find two keys that meet: each
 * UTF-16 unit of the key is multiplied with random numbers of its place, which are drawn for each store, and of the sums the upper halves count.
 * Any two keys, however they were chosen, meet with a probability of 1 in 2^64 ("multilinear hashing"). Of ten million keys one pair meets
 * with a probability of 3 in a million.
 */

/** Units that there are numbers for. A longer key is hashed in parts. */
const UNITS = 512;
const PART = 256;
const UNIT = 65_535;
const LANES = 4;
const UPPER = -65_536;

export class KeyHash {
  /** The hash of the key that was last given to `of`. Never both 0: that means an empty slot in the table. */
  low = 0;
  high = 0;
  readonly #factors: Int32Array;

  constructor() {
    this.#factors = crypto.getRandomValues(new Int32Array(LANES * (UNITS + 1)));
  }

  of(key: string): void {
    const { length } = key;
    if (length > UNITS) {
      this.#ofParts(key);
      return;
    }
    const factors = this.#factors;
    let a = factors[0]!;
    let b = factors[1]!;
    let c = factors[2]!;
    let d = factors[3]!;
    for (let at = 0, place = LANES; at < length; at += 1, place += LANES) {
      // Never 0: so a key differs from itself with something behind it.
      const unit = key.charCodeAt(at) + 1;
      a = (a + Math.imul(factors[place]!, unit)) | 0;
      b = (b + Math.imul(factors[place + 1]!, unit)) | 0;
      c = (c + Math.imul(factors[place + 2]!, unit)) | 0;
      d = (d + Math.imul(factors[place + 3]!, unit)) | 0;
    }
    // Sums of keys that follow one another stand in rows: mixed, so that they are spread, and reversibly, so that no two more meet.
    let low = (a & UPPER) | (b >>> 16);
    let high = (c & UPPER) | (d >>> 16);
    high ^= Math.imul(low ^ (low >>> 15), 0x85ebca6b);
    low ^= Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
    high ^= Math.imul(low ^ (low >>> 16), 0x27d4eb2f);
    this.low = (low | high) === 0 ? 1 : low;
    this.high = high;
  }

  /** The hash of what came before, which nobody knows, begins the next part. */
  #ofParts(key: string): void {
    let before = '';
    for (let from = 0; from < key.length; from += PART) {
      this.of(before + key.slice(from, from + PART));
      const { low, high } = this;
      before = String.fromCharCode(low & UNIT, low >>> 16, high & UNIT, high >>> 16);
    }
  }
}
