/** Asks a condition again and again. A condition that throws counts as "not yet", and is quoted when time is up. */

import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 20;

export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown;
  while (performance.now() < deadline) {
    try {
      if (await condition()) return;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    await sleep(PAUSE_MS);
  }
  throw new Error(`waited ${timeoutMs} ms in vain until ${what}`, { cause: lastError });
}
