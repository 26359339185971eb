/** The command as a process of its own, as users have it: the built one. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const binary = fileURLToPath(new URL('../bin/sluice.mjs', import.meta.url));

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

export function sluice(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [binary, ...args], (error, out, text) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, error: text });
    });
  });
}

export interface ServingProcess {
  readonly pid: number;
  readonly url: string;
  readonly greeting: string;
  logs(): Record<string, unknown>[];
  signal(name: NodeJS.Signals): void;
  /** Resolves to the exit code. */
  readonly ended: Promise<number | null>;
  stop(): Promise<void>;
}

export async function serve(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<ServingProcess> {
  const child = spawn(process.execPath, [binary, 'serve', '--port', '0', ...args], {
    env: { ...process.env, REDIS_URL: '', ...environment },
  });
  let [out, logs] = ['', ''];
  child.stderr.on('data', (chunk) => {
    logs += chunk;
  });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      out += chunk;
      const [, found] = /(?:listens on |"url":")([^\s,"]+)[",]/.exec(out) ?? [];
      if (found !== undefined) resolve(found);
    });
    void ended.then((code) => reject(new Error(`ended with ${code}: ${logs}`)));
  });
  return {
    pid: child.pid!,
    url,
    get greeting() {
      return out;
    },
    // Whole lines: the last one may still be on its way.
    logs: () =>
      logs
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    signal: (name) => void child.kill(name),
    ended,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Until it is so, or for so long that even a busy machine would have come to it. */
export async function eventually<T>(look: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
  const endsAt = performance.now() + 30_000;
  for (;;) {
    const value = await look();
    if (isSo(value) || performance.now() > endsAt) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
