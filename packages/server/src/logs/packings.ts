/** What is packed, or not UTF-8: known by its first bytes, and not by its name. */

/** First bytes of what is packed, or not UTF-8, and what unpacks it. */
const PACKINGS: readonly (readonly [name: string, bytes: readonly number[], command: string])[] = [
  ['gzip', [0x1f, 0x8b], 'gzip -dc'],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd], 'zstd -dc'],
  ['bzip2', [0x42, 0x5a, 0x68], 'bzip2 -dc'],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a], 'xz -dc'],
  ['lz4', [0x04, 0x22, 0x4d, 0x18], 'lz4 -dc'],
  ['zip', [0x50, 0x4b, 0x03, 0x04], 'unzip -p'],
  ['compress', [0x1f, 0x9d], 'uncompress -c'],
  ['UTF-16', [0xff, 0xfe], 'iconv -f utf-16 -t utf-8'],
  ['UTF-16', [0xfe, 0xff], 'iconv -f utf-16 -t utf-8'],
];

/** How something is packed, by its first bytes; undefined for plain text. */
export function packingOf(start: Uint8Array): string | undefined {
  return PACKINGS.find(([, bytes]) => bytes.every((byte, index) => start[index] === byte))?.[0];
}

/** That it cannot be read, and the command that makes it readable. */
export function unreadable(packing: string, name: string): string {
  const [, , command] = PACKINGS.find(([each]) => each === packing)!;
  const what =
    packing === 'UTF-16'
      ? 'it is UTF-16, and only UTF-8 is read'
      : `it is packed with ${packing}, and only gzip is read`;
  return `${what}. Convert it on the way: ${command} ${name}`;
}
