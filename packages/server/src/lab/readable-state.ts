/** What a state in Redis says, for people: its bytes as redis-cli prints them, and in words. */
import type { Policy } from 'sluice';
import { inspectState, parseStateName, stateName } from 'sluice/redis';
import { stateText } from '../service/state-text.ts';

/** The bytes as text, what is not printable as \xNN. */
export function printable(bytes: Uint8Array): string {
  const escaped = (byte: number): string =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`;
  return [...bytes].map(escaped).join('');
}

/** Empty for a value that cannot be read, such as one that was cut off: it is for looking at, and must not cost an attempt its answer. */
export function reading(bytes: Uint8Array, policy: Policy): string {
  try {
    return stateText(inspectState(parseStateName(stateName('', policy))!.kind, bytes), clockText);
  } catch {
    return '';
  }
}

/** Unix time as a time of day. */
function clockText(seconds: number): string {
  return `${new Date(seconds * 1e3).toISOString().slice(11, -1)} UTC`;
}
