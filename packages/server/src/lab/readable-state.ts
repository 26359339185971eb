/** What a state in Redis says, for people: its bytes as redis-cli prints them, and in words. */
import type { Policy } from 'sluice';
import { inspectState, type State, type StateKind } from 'sluice/redis';

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
    const { state } = inspectState(kindOf(policy), bytes);
    return state === null ? 'nothing spent' : stateText(state, policy);
  } catch {
    return '';
  }
}

function kindOf(policy: Policy): StateKind {
  return policy.algorithm === 'leaky-bucket' ? `leaky-bucket ${policy.mode}` : policy.algorithm;
}

function stateText(state: State, policy: Policy): string {
  if ('entries' in state) return logText(state.entries);
  if ('count' in state) return `window from ${clockText(state.windowStart)}, count ${state.count}`;
  if ('previous' in state) {
    return `window from ${clockText(state.windowStart)}, count ${state.current}, previous ${state.previous}`;
  }
  if ('spent' in state) return `tokens ${tokensIn(policy, state.spent)} at ${clockText(state.at)}`;
  if ('level' in state) return `level ${rounded(state.level)} at ${clockText(state.at)}`;
  if ('nextFree' in state) return `next free slot ${clockText(state.nextFree)}`;
  return `theoretical arrival ${clockText(state.theoreticalArrival)}`;
}

function logText(entries: readonly { readonly at: number }[]): string {
  const newest = entries.at(-1);
  const count = `${entries.length} ${entries.length === 1 ? 'entry' : 'entries'}`;
  return newest === undefined ? count : `${count}, newest ${clockText(newest.at)}`;
}

/** A bucket's state is what is missing from it. */
function tokensIn(policy: Policy, spent: number): number {
  return rounded(('capacity' in policy ? policy.capacity : 0) - spent);
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** Unix time as a time of day. */
function clockText(seconds: number): string {
  return `${new Date(seconds * 1e3).toISOString().slice(11, -1)} UTC`;
}
