/** Asks the server once a second what happens, as long as somebody looks. */
import { useEffect, useState } from 'preact/hooks';
import { authorization } from '../token/token.ts';
import { type History, withAnswer } from './history.ts';
import type { LiveAnswer } from './live-answer.ts';

/** `locked`: it wants a token, or another one. `away`: it does not answer; what was last seen stays. */
export interface Live {
  readonly state: 'waiting' | 'locked' | 'away' | 'here';
  /** Of the last second or two. */
  readonly now: LiveAnswer | undefined;
  /** Of the last minute. */
  readonly minute: LiveAnswer | undefined;
  readonly history: History;
}

const START: Live = { state: 'waiting', now: undefined, minute: undefined, history: [] };
const EVERY_MS = 1_000;

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

type Look = 'locked' | 'away' | { readonly now: LiveAnswer; readonly minute: LiveAnswer };

async function look(token: string, signal: AbortSignal): Promise<Look> {
  try {
    const [now, minute] = await Promise.all([
      ask('seconds=1&top=1', token, signal),
      ask('seconds=60&top=8', token, signal),
    ]);
    return now === 'locked' || minute === 'locked' ? 'locked' : { now, minute };
  } catch {
    return 'away';
  }
}

async function ask(query: string, token: string, signal: AbortSignal): Promise<LiveAnswer | 'locked'> {
  const response = await fetch(`v1/live?${query}`, { headers: authorization(token), signal });
  if (response.status === 401) return 'locked';
  if (!response.ok) throw new Error(`The server answered ${response.status}`);
  return (await response.json()) as LiveAnswer;
}

function following(before: Live, next: Look): Live {
  if (next === 'locked' || next === 'away') return { ...before, state: next };
  return { state: 'here', ...next, history: withAnswer(before.history, next.now) };
}
