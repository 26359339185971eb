/**
 * SHA-256, written out because the library has no dependencies, runs where `node:crypto` does not, and must answer at once where
 * WebCrypto answers with a promise. Tested against `node:crypto`. Base64url without padding: 43 characters.
 */
const ROUNDS = 64;

/** The fractional parts of the square or cube roots of the first primes, as the standard derives its constants. */
function rootsOfPrimes(count: number, root: number): Uint32Array {
  const roots: number[] = [];
  for (let n = 2; roots.length < count; n += 1) {
    if (isPrime(n)) roots.push((n ** (1 / root) % 1) * 2 ** 32);
  }
  return Uint32Array.from(roots);
}

function isPrime(n: number): boolean {
  for (let divisor = 2; divisor * divisor <= n; divisor += 1) if (n % divisor === 0) return false;
  return true;
}

const START = rootsOfPrimes(8, 2);
const CONSTANTS = rootsOfPrimes(ROUNDS, 3);
const encoder = new TextEncoder();

export function sha256(text: string): string {
  const hash = START.slice();
  const words = padded(bytesOf(text));
  for (let block = 0; block < words.length; block += 16) compress(hash, words.subarray(block, block + 16));
  return base64url(hash);
}

/** UTF-8; a string with lone surrogates, which UTF-8 cannot tell apart, as 0xff (never in UTF-8) and its UTF-16 units. */
function bytesOf(text: string): Uint8Array {
  if (!/\p{Surrogate}/u.test(text)) return encoder.encode(text);
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return Uint8Array.from([0xff, ...units.flatMap((unit) => [unit >> 8, unit & 0xff])]);
}

/** Big-endian words: the bytes, a one, zeros, and how many bits there were. */
export function padded(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array((((bytes.length + 8) >> 6) + 1) << 4);
  for (let i = 0; i < bytes.length; i += 1) words[i >> 2]! |= bytes[i]! << (24 - (i % 4) * 8);
  words[bytes.length >> 2]! |= 0x80 << (24 - (bytes.length % 4) * 8);
  words[words.length - 1] = bytes.length << 3;
  return words;
}

/** To the right. */
export const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

function compress(hash: Uint32Array, block: Uint32Array): void {
  const schedule = scheduled(block);
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let i = 0; i < ROUNDS; i += 1) {
    const mixE = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const first = (h + mixE + ((e & f) ^ (~e & g)) + CONSTANTS[i]! + schedule[i]!) | 0;
    const mixA = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const second = (mixA + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  const mixed = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < mixed.length; i += 1) hash[i]! += mixed[i]!;
}

function scheduled(block: Uint32Array): Uint32Array {
  const schedule = new Uint32Array(ROUNDS);
  schedule.set(block);
  for (let i = 16; i < ROUNDS; i += 1) {
    const near = schedule[i - 2]!;
    const far = schedule[i - 15]!;
    const mixNear = rotated(near, 17) ^ rotated(near, 19) ^ (near >>> 10);
    const mixFar = rotated(far, 7) ^ rotated(far, 18) ^ (far >>> 3);
    schedule[i] = schedule[i - 16]! + mixFar + schedule[i - 7]! + mixNear;
  }
  return schedule;
}

function base64url(hash: Uint32Array): string {
  const bytes = Array.from(hash, (word) =>
    String.fromCharCode(word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255),
  );
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
