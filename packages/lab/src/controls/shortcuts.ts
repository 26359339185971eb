/** One key each for what is done most. They can be turned off, as some people's software types for them. */
import { useEffect } from 'preact/hooks';
import type { Lab } from '../lab/lab.ts';
import type { Viewer } from '../timeline/viewer.ts';

export interface Shortcut {
  /** As `KeyboardEvent.key` has it. */
  readonly keys: readonly string[];
  /** As people read it. */
  readonly shown: string;
  readonly does: string;
}

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: [' '], shown: 'Space', does: 'Play or pause' },
  { keys: ['s', 'S'], shown: 'S', does: 'Send a request' },
  { keys: ['b', 'B'], shown: 'B', does: 'Send a burst' },
  { keys: ['r', 'R'], shown: 'R', does: 'Replay the story, or reset all counters' },
  { keys: ['n', 'N'], shown: 'N', does: 'Next part of the story, or the next story' },
  { keys: ['ArrowRight'], shown: '→', does: 'Step to the next request' },
  { keys: ['ArrowLeft'], shown: '←', does: 'Look back at the request before' },
  { keys: ['+', '='], shown: '+', does: 'Show less time' },
  { keys: ['-'], shown: '−', does: 'Show more time' },
  { keys: ['0'], shown: '0', does: 'Show what fits, and follow now' },
  { keys: ['1', '2', '3', '4', '5', '6', '7', '8', '9'], shown: '1 … 9', does: 'Open a row, or close it' },
  { keys: ['Escape'], shown: 'Esc', does: 'Back to now, or close what is open' },
  { keys: ['?'], shown: '?', does: 'This list' },
];

const STORED_AS = 'sluice-shortcuts';

export function areShortcutsOn(): boolean {
  try {
    return localStorage.getItem(STORED_AS) !== 'off';
  } catch {
    return true;
  }
}

export function turnShortcuts(on: boolean): void {
  try {
    localStorage.setItem(STORED_AS, on ? 'on' : 'off');
  } catch {
    return;
  }
}

export interface ShortcutActions {
  readonly lab: Lab;
  readonly viewer: Viewer;
  send(count: number): void;
  open(place: number): void;
  close(): void;
  help(): void;
  next(): void;
  redraw(): void;
}

/** Where keys mean something else. */
const TYPING = 'input, select, textarea, dialog, [role=slider]';

export function useShortcuts(actions: ShortcutActions): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target as Element;
      if (event.key === 'Escape' && target.closest('dialog') === null) goBack(actions);
      if (!areShortcutsOn() || target.closest?.(TYPING) !== null) return;
      // A button that has the focus is pressed by the space bar.
      if (event.key === ' ' && target.closest('button, a, summary') !== null) return;
      if (act(event.key, actions)) event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [actions.lab]);
}

function goBack({ lab, close }: ShortcutActions): void {
  if (lab.viewed !== undefined) lab.look(undefined);
  else close();
}

/** Whether the key meant something. */
function act(key: string, actions: ShortcutActions): boolean {
  const does = DOES[key.length === 1 ? key.toLowerCase() : key];
  if (does !== undefined) does(actions);
  else if (/^[1-9]$/.test(key)) actions.open(Number(key) - 1);
  else return false;
  return true;
}

const DOES: Readonly<Record<string, (actions: ShortcutActions) => void>> = {
  ' ': ({ lab }) => (lab.playing ? lab.pause() : lab.isOver ? void lab.replay() : lab.play()),
  s: ({ send }) => send(1),
  b: ({ lab, send }) => send(lab.setup.burst),
  r: ({ lab }) => void (lab.story === undefined ? lab.reset() : lab.replay()),
  n: ({ next }) => next(),
  '?': ({ help }) => help(),
  ArrowRight: ({ lab }) => void (lab.engine.isVirtual && lab.step()),
  ArrowLeft: ({ lab }) => lookBack(lab),
  '+': (actions) => zoom(actions, 1 / 1.6),
  '=': (actions) => zoom(actions, 1 / 1.6),
  '-': (actions) => zoom(actions, 1.6),
  '0': ({ viewer, redraw }) => {
    viewer.fit();
    redraw();
  },
};

function zoom({ lab, viewer, redraw }: ShortcutActions, factor: number): void {
  viewer.zoom(lab, factor);
  redraw();
}

function lookBack(lab: Lab): void {
  if (!lab.engine.isVirtual || lab.trace.length === 0) return;
  const before = lab.trace.lastAt(lab.time - 0.001);
  if (before < 0) return;
  lab.pause();
  lab.look(lab.trace.at[lab.trace.slot(before)]);
}
