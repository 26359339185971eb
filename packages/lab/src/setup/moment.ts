/** A moment in the address: what was sent by hand, when the traffic began, and the time that is looked at. */
import type { Arrival } from '../trace/trace.ts';
import { MAX_BURST, MAX_COST, type SharedMoment } from './setup.ts';

/** An address can only be so long. */
const MOST_GROUPS = 120;
const LONGEST_MS = 30 * 86_400_000;

/** `0.5x10,12.25c3,13k1@gcra`: seconds, how many, what each costs, which client, and the one row it was for. */
export function writeMoment(parameters: URLSearchParams, { sent, time, trafficFrom }: SharedMoment): boolean {
  const groups = grouped(sent);
  if (groups.length > MOST_GROUPS) return false;
  if (groups.length > 0) parameters.set('sent', groups.map(groupText).join(','));
  if (trafficFrom > 0) parameters.set('from', secondsText(trafficFrom));
  parameters.set('t', secondsText(time));
  return true;
}

interface Group extends Arrival {
  readonly count: number;
}

function grouped(sent: readonly Arrival[]): Group[] {
  const groups: Group[] = [];
  for (const arrival of sent) {
    const last = groups.at(-1);
    const isSame =
      last !== undefined &&
      last.at === arrival.at &&
      last.cost === arrival.cost &&
      last.client === arrival.client &&
      last.only === arrival.only;
    if (isSame) groups[groups.length - 1] = { ...last, count: last.count + 1 };
    else groups.push({ ...arrival, count: 1 });
  }
  return groups;
}

/** To the microsecond, without digits that say nothing. */
function secondsText(ms: number): string {
  return String(Math.round(ms * 1000) / 1_000_000);
}

function groupText({ at, count, cost, client, only }: Group): string {
  const parts = [count > 1 ? `x${count}` : '', cost > 1 ? `c${cost}` : '', client > 0 ? `k${client}` : ''];
  return `${secondsText(at)}${parts.join('')}${only === undefined ? '' : `@${only}`}`;
}

const GROUP = /^(\d+(?:\.\d+)?)(?:x(\d+))?(?:c(\d+))?(?:k([01]))?(?:@([\w-]+))?$/;

/** Undefined when the address has no moment, or one that cannot be. */
export function readMoment(parameters: URLSearchParams, rows: readonly string[]): SharedMoment | undefined {
  const time = millisecondsOf(parameters.get('t'));
  if (time === undefined) return undefined;
  const texts = (parameters.get('sent') ?? '').split(',').filter((text) => text !== '');
  const sent = texts.slice(0, MOST_GROUPS).flatMap((text) => readGroup(text, rows));
  const trafficFrom = millisecondsOf(parameters.get('from')) ?? 0;
  return { sent: sent.sort((one, other) => one.at - other.at), time, trafficFrom };
}

function readGroup(text: string, rows: readonly string[]): Arrival[] {
  const [, at, count = '1', cost = '1', client = '0', only] = GROUP.exec(text) ?? [];
  const ms = millisecondsOf(at ?? null);
  const isPossible = Number(count) <= MAX_BURST && Number(cost) <= MAX_COST && Number(cost) >= 1;
  if (ms === undefined || !isPossible || (only !== undefined && !rows.includes(only))) return [];
  const arrival: Arrival = { at: ms, cost: Number(cost), client: Number(client), only };
  return Array.from({ length: Number(count) }, () => arrival);
}

function millisecondsOf(text: string | null): number | undefined {
  const ms = Math.round(Number(text ?? Number.NaN) * 1_000_000) / 1000;
  return ms >= 0 && ms <= LONGEST_MS ? ms : undefined;
}
