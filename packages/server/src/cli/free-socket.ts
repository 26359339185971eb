/** A Unix socket that nobody listens on is a file that a process has left behind: it is removed, so that the next can listen. */
import { lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';

export async function freeSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSocket() !== true || (await isTaken(path))) return;
  await unlink(path).catch(() => {});
}

function isTaken(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => socket.destroy());
    socket.once('connect', () => socket.end());
  });
}
