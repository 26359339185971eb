/** A decoded state in words, of whatever algorithm: each field with its name, moments as the reader likes to see them. */
import type { InspectedState } from 'sluice/redis';

export type MomentText = (seconds: number) => string;

export function stateText({ state, times }: Pick<InspectedState, 'state' | 'times'>, momentText: MomentText): string {
  if (state === null) return 'nothing spent';
  const parts = Object.entries(state).map(([name, value]) => {
    if (Array.isArray(value)) return entriesText(value as readonly Entry[], momentText);
    return `${words(name)} ${times.includes(name) ? momentText(value as number) : rounded(value as number)}`;
  });
  return parts.join(', ');
}

interface Entry {
  readonly at: number;
  readonly cost: number;
}

/** Units of one instant share an entry, so both numbers are told. */
function entriesText(entries: readonly Entry[], momentText: MomentText): string {
  const units = entries.reduce((sum, { cost }) => sum + cost, 0);
  const count = `${plural(units, 'unit', 'units')} in ${plural(entries.length, 'entry', 'entries')}`;
  const newest = entries.at(-1);
  return newest === undefined ? count : `${count}, newest ${momentText(newest.at)}`;
}

function plural(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `windowStart` as people say it. */
function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
