/** Which of a cluster's 16,384 slots a key lies in: CRC-16 (XMODEM) of its hash tag. A script's keys must share one. */
const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;
const encoder = new TextEncoder();

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x8000 ? POLYNOMIAL : 0);
  return crc & 0xffff;
});

export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of encoder.encode(hashTag(key))) crc = ((crc << 8) ^ TABLE[((crc >> 8) ^ byte) & 0xff]!) & 0xffff;
  return crc % SLOTS;
}

/** What stands between the first brace and the next closing one, if anything does. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}
