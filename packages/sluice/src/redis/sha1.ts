/** SHA-1 of a script, by which Redis knows it: the platform's own is asynchronous, or only in Node. */
import { padded, rotated } from './sha256.ts';

export function sha1(text: string): string {
  const words = padded(new TextEncoder().encode(text));
  const hash = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
  const schedule = new Int32Array(80);
  for (let block = 0; block < words.length; block += 16) {
    for (let i = 0; i < 80; i += 1) {
      schedule[i] = i < 16 ? words[block + i]! : rotated(xorOf(schedule, i), 31);
    }
    mix(hash, schedule);
  }
  return hash.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

function xorOf(words: Int32Array, i: number): number {
  return words[i - 3]! ^ words[i - 8]! ^ words[i - 14]! ^ words[i - 16]!;
}

function mix(hash: number[], schedule: Int32Array): void {
  let [a, b, c, d, e] = hash as [number, number, number, number, number];
  for (let i = 0; i < 80; i += 1) {
    const round = Math.floor(i / 20);
    const mixed = round === 0 ? (b & c) | (~b & d) : round === 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
    const next =
      (rotated(a, 27) + mixed + e + schedule[i]! + [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6][round]!) | 0;
    [a, b, c, d, e] = [next, a, rotated(b, 2), c, d];
  }
  for (const [i, word] of [a, b, c, d, e].entries()) hash[i] = (hash[i]! + word) | 0;
}
