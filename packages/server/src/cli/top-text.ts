/** What `sluice top` draws, as lines that fit a window. Pure: a view in, text out. */
import type { LiveAnswer } from '../service/live-view.ts';
import { printable, shortened, table } from './table.ts';

export interface TopView {
  readonly url: string;
  readonly view: LiveAnswer;
  /** Why the numbers are old. */
  readonly problem?: string | undefined;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Lines around the lists: head, store, their titles and the empty lines between. */
const FRAME_ROWS = 8;

export function topLines({ url, view, problem }: TopView, { columns, rows }: Size): string[] {
  const shared = Math.max(3, rows - FRAME_ROWS);
  const policyRows = Math.max(1, Math.min(view.policies.length, Math.floor(shared / 3)));
  const keyRows = Math.max(1, Math.floor((shared - policyRows) / 2));
  const lines = [
    `sluice top   ${url}   ${problem ?? `the last ${view.seconds.toFixed(1)} s`}   ${clockText(view.at)}`,
    storeText(view),
    '',
    ...policyTable(view, policyRows),
    '',
    ...keyTable('MOST DENIED', view.top.denied, keyRows, columns),
    '',
    ...keyTable('BUSIEST', view.top.busiest, keyRows, columns),
  ];
  return lines.slice(0, rows).map((line) => shortened(printable(line), columns));
}

function storeText({ store }: LiveAnswer): string {
  return `store   p50 ${msText(store.p50Ms)}   p99 ${msText(store.p99Ms)}   answered by a fallback ${percent(store.fallbackShare)}`;
}

/** Those with the most decisions: they may be more than there are rows for. */
function policyTable({ policies }: LiveAnswer, most: number): string[] {
  const busiest = [...policies].sort((one, other) => decisions(other) - decisions(one));
  const rows = busiest
    .slice(0, most)
    .map(({ name, shadow, allowedPerSecond, deniedPerSecond, deniedShare }) => [
      shadow ? `${name} (shadow)` : name,
      allowedPerSecond.toFixed(1),
      deniedPerSecond.toFixed(1),
      percent(deniedShare),
    ]);
  const right = (title: string) => ({ title, align: 'right' as const });
  return table([{ title: 'POLICY' }, right('ALLOWED/S'), right('DENIED/S'), right('DENIED')], rows);
}

function decisions({ allowed, denied }: LiveAnswer['policies'][number]): number {
  return allowed + denied;
}

/** The key is last, because it is what may be long. */
function keyTable(title: string, keys: LiveAnswer['top']['denied'], most: number, columns: number): string[] {
  const rows = keys
    .slice(0, most)
    .map(({ policy, key, count, error }) => [error > 0 ? `~${count}` : String(count), policy, shortened(key, columns)]);
  return table([{ title, align: 'right' }, { title: 'POLICY' }, { title: 'KEY' }], rows);
}

/** All of it in one line, for logs and pipes. */
export function topLine({ at, policies, store, top }: LiveAnswer): string {
  const sum = (field: 'allowedPerSecond' | 'deniedPerSecond'): number =>
    policies.reduce((total, policy) => total + policy[field], 0);
  const [allowed, denied] = [sum('allowedPerSecond'), sum('deniedPerSecond')];
  const [worst] = top.denied;
  return printable(
    [
      clockText(at),
      `allowed ${allowed.toFixed(1)}/s`,
      `denied ${denied.toFixed(1)}/s (${percent(allowed + denied === 0 ? 0 : denied / (allowed + denied))})`,
      `p50 ${msText(store.p50Ms)}`,
      `p99 ${msText(store.p99Ms)}`,
      `fallback ${percent(store.fallbackShare)}`,
      ...(worst === undefined ? [] : [`most denied ${worst.key} (${worst.policy}, ${worst.count})`]),
    ].join('  '),
  );
}

function msText(ms: number | null): string {
  if (ms === null) return '-';
  return ms >= 10 ? `${ms.toFixed(0)} ms` : `${ms.toPrecision(2)} ms`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function clockText(seconds: number): string {
  return new Date(seconds * 1e3).toISOString().slice(11, 19);
}
