/**
 * A seeded 64-bit hash of a key: HalfSipHash-1-3, made for 32-bit arithmetic, which is what JavaScript has. The table keeps the
 * hash instead of the key, so it must be one for which nobody outside can find two keys that meet: the seed is random for
 * each store. By chance, one pair among ten million keys meets with a probability of 3 in a million.
 */
export interface Hash {
  low: number;
  high: number;
}

export type HashKey = (key: string) => Hash;

/** The hash function of one seed. It answers in the same object each time: read it before the next call. */
export function seededHash(seedLow: number, seedHigh: number): HashKey {
  const hash: Hash = { low: 0, high: 0 };
  return (key) => {
    let a = seedLow;
    let b = seedHigh ^ 0xee;
    let c = 0x6c796765 ^ seedLow;
    let d = 0x74656462 ^ seedHigh;
    const { length } = key;
    const last = length & ~1;
    // One round takes in two UTF-16 units, the last one the length and an odd unit; three rounds finish each half.
    for (let at = 0; at <= last + 12; at += 2) {
      let word = 0;
      if (at < last) word = key.charCodeAt(at) | (key.charCodeAt(at + 1) << 16);
      else if (at === last) word = (length << 16) | (last < length ? key.charCodeAt(last) : 0);
      else if (at === last + 2) c ^= 0xee;
      else if (at === last + 8) {
        hash.low = b ^ d;
        b ^= 0xdd;
      }
      d ^= word;
      a = (a + b) | 0;
      b = ((b << 5) | (b >>> 27)) ^ a;
      a = (a << 16) | (a >>> 16);
      c = (c + d) | 0;
      d = ((d << 8) | (d >>> 24)) ^ c;
      a = (a + d) | 0;
      d = ((d << 7) | (d >>> 25)) ^ a;
      c = (c + b) | 0;
      b = ((b << 13) | (b >>> 19)) ^ c;
      c = (c << 16) | (c >>> 16);
      a ^= word;
    }
    hash.high = b ^ d;
    // Two zeros mean an empty slot in the table.
    if (hash.low === 0 && hash.high === 0) hash.low = 1;
    return hash;
  };
}

export function randomHash(): HashKey {
  const [low = 0, high = 0] = crypto.getRandomValues(new Int32Array(2));
  return seededHash(low, high);
}
