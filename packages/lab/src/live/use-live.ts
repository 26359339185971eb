/** Asks the server once a second what happens, as long as somebody looks. */
import { useEffect, useState } from 'preact/hooks';
import { authorization } from '../token/token.ts';
import { type History, withSeconds } from './history.ts';
import type { LiveAnswer } from './live-answer.ts';

/** `locked`: it wants a token, or another one. `away`: it does not answer; what was last seen stays. */
export interface Live {
  readonly state: 'waiting' | 'locked' | 'away' | 'here';
  /** Since when it is away, in milliseconds of this page. */
  readonly awaySince: number | undefined;
  /** Of the last minute. */
  readonly answer: LiveAnswer | undefined;
  readonly history: History;
}

const START: Live = { state: 'waiting', awaySince: undefined, answer: undefined, history: [] };
const EVERY_MS = 1_000;
/** A server that takes longer is not there. */
const PATIENCE_MS = 4_000;

export function useLive(token: string): Live {
  const [live, setLive] = useState<Live>(START);
  useEffect(() => {
    const looking = new AbortController();
    setLive(START);
    void keepLooking(token, looking.signal, setLive);
    return () => looking.abort();
  }, [token]);
  return live;
}

async function keepLooking(
  token: string,
  signal: AbortSignal,
  setLive: (change: (before: Live) => Live) => void,
): Promise<void> {
  while (!signal.aborted) {
    const next = document.hidden ? undefined : await look(token, signal);
    if (signal.aborted) return;
    if (next !== undefined) setLive((before) => following(before, next));
    if (next === 'locked') return;
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

type Look = 'locked' | 'away' | LiveAnswer;

async function look(token: string, signal: AbortSignal): Promise<Look> {
  try {
    const response = await fetch('v1/live?seconds=60&top=20&history=60', {
      headers: authorization(token),
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    if (response.status === 401) return 'locked';
    return response.ok ? ((await response.json()) as LiveAnswer) : 'away';
  } catch {
    return 'away';
  }
}

function following(before: Live, next: Look): Live {
  if (next === 'locked') return { ...before, state: 'locked' };
  if (next === 'away') return { ...before, state: 'away', awaySince: before.awaySince ?? performance.now() };
  return { state: 'here', awaySince: undefined, answer: next, history: withSeconds(before.history, next.history) };
}
