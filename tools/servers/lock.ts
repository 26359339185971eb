/**
 * One holder at a time among all processes of this machine.
 *
 * The lock is the kernel's, held by a `flock` child whose input is a pipe from us: however this process ends, the pipe
 * closes, the child leaves and the lock is free. So there is no stale lock to detect. Linux only, which is enough: it
 * guards apt.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

const PATIENCE_SECONDS = 300;

export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const release = await acquire(file);
  try {
    return await work();
  } finally {
    release();
  }
}

async function acquire(file: string): Promise<() => void> {
  const args = ['--wait', String(PATIENCE_SECONDS), file, 'sh', '-c', 'echo locked; cat'];
  const holder = spawn('flock', args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const answer = await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')]);
  if (String(answer[0]).trim() !== 'locked') {
    throw new Error(`could not lock ${file} within ${PATIENCE_SECONDS} s: another process holds it`);
  }
  return () => holder.stdin.end();
}
