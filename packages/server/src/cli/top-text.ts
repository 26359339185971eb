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

function storeText({ store, workers }: LiveAnswer): string {
  const times = `p50 ${msText(store.p50Ms)}   p99 ${msText(store.p99Ms)}`;
  return `store   ${times}   answered by a fallback ${percent(store.fallbackShare)}${silentText(workers)}`;
}

/** Numbers of which some are missing are not to be taken for all. */
function silentText(workers: LiveAnswer['workers']): string {
  if (workers === undefined || workers.silent.length === 0) return '';
  return `   without ${workers.silent.length} of ${workers.count} workers, which did not answer`;
}

/** Those with the most decisions: they may be more than there are rows for. */
function policyTable({ policies }: LiveAnswer, most: number): string[] {
  const busiest = [...policies].sort((one, other) => decisions(other) - decisions(one));
  const rows = busiest
    .slice(0, most)
    .map(({ name, shadow, allowedPerSecond, ...policy }) => [
      shadow ? `${name} (shadow: would deny)` : name,
      allowedPerSecond.toFixed(1),
      (shadow ? policy.wouldDenyPerSecond : policy.deniedPerSecond).toFixed(1),
      percent(shadow ? policy.wouldDenyShare : policy.deniedShare),
    ]);
  const right = (title: string) => ({ title, align: 'right' as const });
  return table([{ title: 'POLICY' }, right('ALLOWED/S'), right('DENIED/S'), right('DENIED')], rows);
}

function decisions({ allowed, denied, deniedByOthers }: LiveAnswer['policies'][number]): number {
  return allowed + denied + deniedByOthers;
}

/** The key is last, because it is what may be long. */
function keyTable(title: string, keys: LiveAnswer['top']['denied'], most: number, columns: number): string[] {
  const rows = keys
    .slice(0, most)
    .map(({ policy, key, count, error }) => [error > 0 ? `~${count}` : String(count), policy, shortened(key, columns)]);
  return table([{ title, align: 'right' }, { title: 'POLICY' }, { title: 'KEY' }], rows);
}

/** All of it in one line, for logs and pipes. */
export function topLine({ at, requests, store, top, workers }: LiveAnswer): string {
  const [worst] = top.denied;
  return printable(
    [
      clockText(at),
      `allowed ${requests.allowedPerSecond.toFixed(1)}/s`,
      `denied ${requests.deniedPerSecond.toFixed(1)}/s (${percent(requests.deniedShare)})`,
      `p50 ${msText(store.p50Ms)}`,
      `p99 ${msText(store.p99Ms)}`,
      `fallback ${percent(store.fallbackShare)}`,
      ...(worst === undefined ? [] : [`most denied ${worst.key} (${worst.policy}, ${worst.count})`]),
    ].join('  ') + silentText(workers),
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
