/**
 * A secret 64-bit hash of a key. The table keeps the hash instead of the key, so nobody outside may be able to find two keys that meet: each
 * UTF-16 unit of the key is multiplied with random numbers of its place, which are drawn for each store, and of the sums the upper halves count.
 * Any two keys, however they were chosen, meet with a probability of 1 in 2^64 ("multilinear hashing"). Of ten million keys one pair meets
 * with a probability of 3 in a million.
 */

/** Units until the numbers are used again. A longer key is hashed in parts. */
const UNITS = 512;
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
    const factors = this.#factors;
    let text = key;
    let at = 0;
    let place = LANES;
    let a = factors[0]!;
    let b = factors[1]!;
    let c = factors[2]!;
    let d = factors[3]!;
    while (at < text.length) {
      if (place === factors.length) {
        // What was hashed so far begins the next part.
        text = String.fromCharCode(a >>> 16, b >>> 16, c >>> 16, d >>> 16) + text.slice(at);
        at = 0;
        place = 0;
      }
      // Never 0: so a key differs from itself with something behind it.
      const unit = text.charCodeAt(at) + 1;
      at += 1;
      a = (a + Math.imul(factors[place]!, unit)) | 0;
      b = (b + Math.imul(factors[place + 1]!, unit)) | 0;
      c = (c + Math.imul(factors[place + 2]!, unit)) | 0;
      d = (d + Math.imul(factors[place + 3]!, unit)) | 0;
      place += LANES;
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
}
