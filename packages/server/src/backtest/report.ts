/** What a backtest found, as plain data: for tables, for JSON, for a page. */
import type { Policy } from 'sluice';
import type { KeyTable } from '../logs/key-table.ts';
import { OTHER_ROUTES } from '../logs/request-reader.ts';
import type { Replay } from './replay.ts';
import type { Scenario } from './scenario.ts';
import { Course } from './tally.ts';

/** A second or a minute: how many units came, and when it began, as Unix time in seconds. */
export interface PeakReport {
  readonly units: number;
  readonly at: number;
}

/** A client, and what happened to it. */
export interface ClientReport {
  readonly key: string;
  readonly requests: number;
  readonly denied: number;
}

/** A path, and what happened to requests for it. */
export interface RouteReport {
  readonly route: string;
  readonly requests: number;
  readonly denied: number;
}

/** How many clients were denied what part of their requests. */
export interface HowHard {
  /** At least this part of their requests, and less than the next. */
  readonly from: number;
  readonly clients: number;
}

/** Between which numbers the truth lies, where a log has whole seconds. */
export interface BoundsReport {
  readonly denied: readonly [least: number, most: number];
  readonly clientsDenied: readonly [least: number, most: number];
}

/** What one policy would have done. */
export interface PolicyReport {
  /** In words, or as the config calls it. */
  readonly name: string;
  readonly policy: Policy | undefined;
  readonly allowed: number;
  readonly denied: number;
  /** Allowed, but only after waiting: shaping. */
  readonly delayed: number;
  readonly allowedUnits: number;
  readonly deniedUnits: number;
  readonly clientsDenied: number;
  /** 0 to 1. */
  readonly deniedShare: number;
  readonly clientsDeniedShare: number;
  readonly howHard: readonly HowHard[];
  /** Seconds. */
  readonly longestRetryAfter: number;
  readonly longestDelay: number;
  /** Requests that cost more than the policy can ever allow. */
  readonly neverAllowed: number;
  readonly peakSecond: PeakReport;
  readonly peakMinute: PeakReport;
  readonly mostDenied: readonly ClientReport[];
  readonly routes: readonly RouteReport[];
  /** Units allowed, by point of the course. */
  readonly course: readonly number[];
  readonly bounds: BoundsReport | 'exact' | undefined;
}

/** What came, and what each policy would have done about it. */
export interface TrafficReport {
  readonly requests: number;
  readonly units: number;
  readonly clients: number;
  /** Unix time in seconds; undefined without a request. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly peakSecond: PeakReport;
  readonly peakMinute: PeakReport;
  readonly busiest: readonly { readonly key: string; readonly requests: number }[];
  /** Unix time of the first point, seconds between points, and units that came. */
  readonly course: { readonly start: number; readonly step: number; readonly came: readonly number[] };
  readonly policies: readonly PolicyReport[];
}

const MOST_LISTED = 10;
const HARDNESS = [0, 0.01, 0.1, 0.5, 0.9] as const;

/** How numbers become names. */
export interface Names {
  readonly clients: KeyTable;
  readonly routes: KeyTable;
}

/** A scenario to report on, with the two between which the truth lies. */
export interface Reported {
  readonly scenario: Scenario;
  readonly policy?: Policy | undefined;
  readonly bounds?: { readonly tighter: Scenario; readonly looser: Scenario } | 'exact' | undefined;
}

/** What came, and what each scenario did about it. Call it once, at the end. */
export function trafficReport(replay: Replay, names: Names, reported: readonly Reported[]): TrafficReport {
  for (const { scenario } of reported) scenario.flow.end();
  const clients = countClients(replay);
  const came = replay.flow.course;
  return {
    requests: replay.requests,
    units: replay.units,
    clients,
    from: replay.requests === 0 ? undefined : replay.first / 1e6,
    to: replay.requests === 0 ? undefined : replay.last / 1e6,
    peakSecond: replay.flow.peaks.second,
    peakMinute: replay.flow.peaks.minute,
    busiest: top(replay.requestsOf, replay.clients).map((client) => ({
      key: names.clients.textOf(client),
      requests: replay.requestsOf[client]!,
    })),
    course: { start: came?.start ?? 0, step: came?.step ?? 1, came: came?.values() ?? [] },
    policies: reported.map((each) => policyReport(each, replay, names, clients)),
  };
}

function policyReport(
  { scenario, policy, bounds }: Reported,
  replay: Replay,
  names: Names,
  clients: number,
): PolicyReport {
  const { counts, flow, denied } = scenario;
  const clientsDenied = countDenied(scenario, replay.clients);
  const requests = counts.allowed + counts.denied;
  return {
    name: scenario.name,
    policy,
    allowed: counts.allowed,
    denied: counts.denied,
    delayed: counts.delayed,
    allowedUnits: counts.allowedUnits,
    deniedUnits: counts.deniedUnits,
    clientsDenied,
    deniedShare: requests === 0 ? 0 : counts.denied / requests,
    clientsDeniedShare: clients === 0 ? 0 : clientsDenied / clients,
    howHard: hardness(scenario, replay),
    longestRetryAfter: counts.longestRetry / 1e6,
    longestDelay: counts.longestDelay / 1e6,
    neverAllowed: counts.never,
    peakSecond: flow.peaks.second,
    peakMinute: flow.peaks.minute,
    mostDenied: top(denied, Math.min(replay.clients, denied.length)).map((client) => ({
      key: names.clients.textOf(client),
      requests: replay.requestsOf[client]!,
      denied: denied[client]!,
    })),
    routes: top(scenario.deniedRoutes, OTHER_ROUTES + 1).map((route) => ({
      route: route === OTHER_ROUTES ? '(all other paths)' : names.routes.textOf(route),
      requests: replay.requestsOfRoute[route]!,
      denied: scenario.deniedRoutes[route]!,
    })),
    course: onGrid(flow.course, replay.flow.course),
    bounds: boundsReport(bounds, scenario, replay.clients),
  };
}

/** The run itself is one of the things that may be true. */
function boundsReport(bounds: Reported['bounds'], scenario: Scenario, clients: number): PolicyReport['bounds'] {
  if (bounds === undefined || bounds === 'exact') return bounds;
  const all = [scenario, bounds.looser, bounds.tighter];
  const denied = all.map(({ counts }) => counts.denied);
  const hit = all.map((each) => countDenied(each, clients));
  return {
    denied: [Math.min(...denied), Math.max(...denied)],
    clientsDenied: [Math.min(...hit), Math.max(...hit)],
  };
}

function countClients({ requestsOf, clients }: Replay): number {
  let count = 0;
  for (let client = 0; client < clients; client += 1) if (requestsOf[client]! > 0) count += 1;
  return count;
}

export function countDenied({ denied }: Scenario, clients: number): number {
  let count = 0;
  const end = Math.min(clients, denied.length);
  for (let client = 0; client < end; client += 1) if (denied[client]! > 0) count += 1;
  return count;
}

function hardness({ denied }: Scenario, { requestsOf, clients }: Replay): HowHard[] {
  const found = HARDNESS.map((from) => ({ from, clients: 0 }));
  const end = Math.min(clients, denied.length);
  for (let client = 0; client < end; client += 1) {
    if (denied[client] === 0) continue;
    const share = denied[client]! / requestsOf[client]!;
    let index = HARDNESS.length - 1;
    while (share < HARDNESS[index]!) index -= 1;
    found[index]!.clients += 1;
  }
  return found;
}

/** The numbers with the largest counts, largest first; those of equal counts in the order they were seen. */
function top(counts: Uint32Array, length: number): number[] {
  const best: number[] = [];
  const end = Math.min(length, counts.length);
  for (let index = 0; index < end; index += 1) {
    const count = counts[index]!;
    if (count === 0 || (best.length === MOST_LISTED && count <= counts[best[MOST_LISTED - 1]!]!)) continue;
    let at = best.length;
    while (at > 0 && counts[best[at - 1]!]! < count) at -= 1;
    best.splice(at, 0, index);
    if (best.length > MOST_LISTED) best.pop();
  }
  return best;
}

/** The points of one course on those of another, which began no later. */
function onGrid(course: Course | undefined, grid: Course | undefined): number[] {
  if (course === undefined || grid === undefined) return [];
  const out = new Course(grid.start);
  out.step = Math.max(grid.step, course.step);
  for (const [index, units] of course.values().entries()) {
    if (units > 0) out.add(course.start + index * course.step, units);
  }
  return out.values();
}
