/** Several processes, of any runtime, that spend from one key at the same time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SPENDER = fileURLToPath(new URL('spender.mjs', import.meta.url));

export interface Spender {
  /** Of support/open-store.mjs. */
  readonly engine: string;
  readonly program?: string | undefined;
  readonly args?: readonly string[] | undefined;
}

export interface Spending {
  readonly env: Readonly<Record<string, string>>;
  readonly key: string;
  readonly limit: number;
  /** Of each process. */
  readonly attempts: number;
}

/** How often each answer was given, in all processes together. */
export async function spendTogether(
  spenders: readonly Spender[],
  { env, key, limit, attempts }: Spending,
): Promise<Record<string, number>> {
  const running = spenders.map(({ engine, program = process.execPath, args = [] }) => {
    const child = spawn(program, [...args, SPENDER, engine, key, String(limit), String(attempts)], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let trouble = '';
    child.stderr.on('data', (piece) => (trouble += String(piece)));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const line = async (): Promise<string> => {
      const { value, done } = await lines.next();
      if (done) throw new Error(`a process of ${engine} ended: ${trouble}`);
      return value;
    };
    return { child, line, trouble: () => trouble };
  });
  try {
    for (const { line } of running) if ((await line()) !== 'ready') throw new Error('a process is not ready');
    for (const { child } of running) child.stdin.write('go\n');
    const sums: Record<string, number> = {};
    for (const { line, trouble } of running) {
      for (const [answer, times] of Object.entries<number>(JSON.parse(await line()))) {
        sums[answer] = (sums[answer] ?? 0) + times;
      }
      if (/SLUICE_/.test(trouble())) throw new Error(trouble());
    }
    return sums;
  } finally {
    await Promise.all(
      running.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }),
    );
  }
}

const LIMIT = 50;
const ATTEMPTS = 100;

/** All of them together are allowed exactly the limit: how the answers must be counted. */
export function exactly(processes: number): Record<string, unknown> {
  return { allowed: LIMIT, answered: processes * ATTEMPTS };
}

let keys = 0;

/** What so many processes were told, with a limit of 50 and 100 attempts of each. */
export async function allowedTogether(
  spenders: readonly Spender[],
  env: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  keys += 1;
  const counts = await spendTogether(spenders, { env, key: `shared ${keys}`, limit: LIMIT, attempts: ATTEMPTS });
  // Denials may come from the deny cache, which only repeats what the engine has said.
  const { 'yes by store': allowed = 0, 'no by store': denied = 0, 'no by deny-cache': repeated = 0, ...rest } = counts;
  return { allowed, answered: allowed + denied + repeated, ...rest };
}
