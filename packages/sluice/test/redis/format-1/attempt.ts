/**
 * How a process with the previous format asks Redis: its key names, its arguments, its scripts. Kept as it was, to see what a rolling
 * upgrade does. The next format keeps this one beside it in the same way.
 */
import type { Policy } from '../../../src/index.ts';
import type { RunScript } from '../../../src/redis/run-script.ts';
import { decideLogScript, decideOneScripts } from './scripts.generated.ts';

type Fields = Policy & Readonly<Record<string, string | number>>;

/** Asks for a cost at a time in microseconds, '' for the server's own clock, and says what was replied. */
export async function attemptInFormat1(
  run: RunScript,
  prefix: string,
  { key, policy, cost, now }: { key: string; policy: Policy; cost: number; now: number | '' },
): Promise<{ readonly allowed: boolean; readonly reply: string }> {
  const code = codeOf(policy);
  const name = Object.keys(policy).includes('name') ? `:${policy.name}` : '';
  const script = code === 'l' ? decideLogScript : decideOneScripts[code as keyof typeof decideOneScripts];
  const words = [String(now), ...wordsOf(policy as Fields), String(cost)];
  const reply = String(await run(script, [`${prefix}:{${key}}${code}${name}`], words));
  if (reply.includes('!')) throw new Error(reply);
  const more = Number(reply.split(/\s/)[3] ?? 0);
  return { allowed: more === 0 || more < -1, reply };
}

/** Algorithms that have come since then are in no state of that format. */
export function isInFormat1(policy: Policy): boolean {
  return codeOf(policy) !== undefined;
}

function codeOf(policy: Policy): string | undefined {
  const { algorithm, mode } = policy as Fields;
  if (algorithm === 'leaky-bucket') return mode === 'shaping' ? 's' : 'p';
  const codes = {
    'fixed-window': 'f',
    'sliding-window-log': 'l',
    'sliding-window-counter': 'c',
    'token-bucket': 't',
    gcra: 'g',
  };
  return codes[algorithm as keyof typeof codes];
}

/** Held as milliseconds and units a second, as today. */
function wordsOf(policy: Fields): string[] {
  const { limit, window, capacity } = policy;
  const micros = String(Math.round(Number(window) * 1000));
  switch (policy.algorithm) {
    case 'fixed-window':
      return [String(limit), micros, String(policy.align)];
    case 'sliding-window-log':
      return [String(limit), micros, `<I${bytesFor(Number(micros))}I${bytesFor(Number(limit) + 1)}`];
    case 'sliding-window-counter':
      return [String(limit), micros, ''];
    case 'token-bucket':
      return [String(capacity), String(policy.refillRate), ''];
    case 'gcra':
      return [String(capacity), String(Math.round(Number(policy.period) * 1000) / Number(limit)), ''];
    default:
      return policy.mode === 'shaping'
        ? [String(capacity), String(1_000_000 / Number(policy.leakRate)), '1']
        : [String(capacity), String(policy.leakRate), ''];
  }
}

function bytesFor(range: number): number {
  let bytes = 1;
  while (256 ** bytes < range) bytes += 1;
  return bytes;
}
