/** What was measured during a fault, and whether each promise was kept. */
import { lagDuring } from './lag.mjs';
import { BOUND, COUNT, LIMIT, PROMISED_MS, RETRY_AFTER_MS, SILENCE_MS, SOURCES, WINDOW_MS } from './traffic.mjs';

/** While the outage is known nothing is waited for; this is for others in the same turn, and for lag too small to be noted. */
const OPEN_MARGIN_MS = 10;
/** After the client is connected again and it is time for a probe: an attempt has to come, and two probes have to be answered. */
const RECOVERY_MARGIN_MS = 250;

/** They do not tell when they are connected, so it is not known how much of a recovery was theirs: it is measured, and has to come. */
const SILENT_CLIENTS = ['valkey-glide'];

const STORE = SOURCES.indexOf('store');
const FALLBACK = SOURCES.indexOf('fallback');

export function judge({ fault, notes, beganAt, backAt, counted, evidence, perSecond, failedProbes = 0 }) {
  const attempts = notes.flatMap(({ attempts, lags }, process) =>
    attempts.map((attempt) => ({ ...attempt, process, lagMs: lagDuring(lags, attempt) })),
  );
  const recoveries = notes.map((note) => recoveryOf(note, beganAt, backAt));
  const hurt = recoveries.filter((recovery) => recovery !== undefined);
  const recoveredAt = Math.max(backAt, ...hurt.map(({ at }) => at));
  const during = attempts.filter(({ startedAt }) => startedAt >= beganAt && startedAt < recoveredAt);
  const admitted = admittedAgainstBound(attempts, fault);
  const spent = spentOnce(attempts, counted);
  const times = during.map(({ tookMs }) => tookMs ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b);
  const excess = largest(attempts, withoutLag);
  const open = largest(
    attempts.filter(({ refused }) => refused),
    withoutLag,
  );
  const mostQueued = Math.max(...notes.map(({ mostQueued }) => mostQueued));
  const measured = {
    attempts: attempts.length,
    during: during.length,
    longestMs: times.at(-1),
    longestWithoutLagMs: largest(during, withoutLag).value,
    p99Ms: times[Math.min(times.length - 1, Math.floor(times.length * 0.99))],
    longestOpenMs: open.value,
    worstLagMs: Math.max(0, ...notes.flatMap(({ lags }) => lags.map(([, late]) => late))),
    sources: Object.fromEntries(
      SOURCES.map((name, index) => [name, during.filter(({ source }) => source === index).length]),
    ),
    rejected: attempts.filter(({ error }) => error !== undefined).length,
    admitted,
    spent,
    recoveryMs: hurt.length === 0 ? undefined : Math.max(...hurt.map(({ tookMs }) => tookMs)),
    recoveries,
    mostQueued,
    evidence,
  };
  const promises = [
    promised('every attempt is answered', unanswered(attempts)),
    promised('no attempt is rejected, nothing is thrown elsewhere', thrown(attempts, notes)),
    promised(
      `within ${PROMISED_MS} ms, and what the process itself was late by`,
      excess.value > PROMISED_MS && `${inMs(excess.value)}, beside ${inMs(excess.of.lagMs)} of lag`,
    ),
    promised(
      `within ${OPEN_MARGIN_MS} ms while the outage is known`,
      open.value > OPEN_MARGIN_MS && `${inMs(open.value)}, beside ${inMs(open.of.lagMs)} of lag`,
    ),
    promised('no more is admitted than the bound', admitted.broken),
    promised('nothing is charged twice', spent.broken(fault)),
    promised(
      `the store answers again within ${RETRY_AFTER_MS} ms of the client being connected`,
      late(recoveries, failedProbes),
    ),
    promised('each outage is a warning, and its end another', unsaid(notes)),
    promised('what waits in the client is bounded', tooManyQueued(mostQueued, perSecond, recoveredAt - beganAt)),
    promised(
      'slowness is no outage',
      fault.spared && measured.sources.fallback > 0 && `${measured.sources.fallback} were answered by the fallback`,
    ),
    promised(
      'the fault has happened',
      fault.hurts && measured.sources.fallback === 0 && 'nobody was answered by the fallback',
    ),
    promised('the fault has happened', Object.values(evidence ?? {}).includes(0) && 'there is no trace of it'),
  ];
  return { name: fault.name, title: fault.title, forgets: fault.forgets === true, measured, promises };
}

/** `broken` is what went wrong, or something falsy. */
function promised(promise, broken) {
  return { promise, broken: broken || undefined };
}

const withoutLag = ({ tookMs = Number.POSITIVE_INFINITY, lagMs }) => tookMs - lagMs;
const inMs = (value) => `${value.toFixed(1)} ms`;

function largest(items, sizeOf) {
  let most = { value: Number.NEGATIVE_INFINITY, of: undefined };
  for (const item of items) if (sizeOf(item) > most.value) most = { value: sizeOf(item), of: item };
  return most;
}

/** Of each process: a warning of a beginning and one of an end by turns, the last outage may go on, and one at least where the fallback has answered. */
function unsaid(notes) {
  for (const { attempts, warnings } of notes) {
    const told = warnings.filter((code) => code === 'SLUICE_STORE_AWAY' || code === 'SLUICE_STORE_BACK');
    const byTurns = told.every((code, index) => code === (index % 2 === 0 ? 'SLUICE_STORE_AWAY' : 'SLUICE_STORE_BACK'));
    const hurt = attempts.some(({ source }) => source === FALLBACK);
    const isOver = told.length % 2 === 0 || attempts.at(-1).source === FALLBACK;
    if (!byTurns || !isOver || told.length > 0 !== hurt) return told.join(', ');
  }
  return undefined;
}

function unanswered(attempts) {
  const count = attempts.filter(({ tookMs }) => tookMs === undefined).length;
  return count > 0 && `${count} of ${attempts.length} never were`;
}

function thrown(attempts, notes) {
  const rejected = attempts.filter(({ error }) => error !== undefined);
  const unhandled = notes.flatMap((note) => note.unhandled);
  if (rejected.length + unhandled.length === 0) return undefined;
  return `${rejected.length} rejected, ${unhandled.length} elsewhere, such as ${rejected[0]?.error ?? unhandled[0]}`;
}

/**
 * The bound, for each window: the limit for all processes together by the store, once more if the server has forgotten it within that
 * window, and the limit for each process that had to answer by itself in it.
 */
function admittedAgainstBound(attempts, { forgets = false }) {
  const windows = new Map();
  for (const { which, allowed, source, resetAt, process } of attempts) {
    if (which !== BOUND || source === -1) continue;
    const number = Math.round((resetAt * 1000) / WINDOW_MS);
    const window = windows.get(number) ?? { byStore: 0, byProcess: new Map() };
    windows.set(number, window);
    if (source === FALLBACK) window.byProcess.set(process, (window.byProcess.get(process) ?? 0) + (allowed ? 1 : 0));
    else if (allowed) window.byStore += 1;
  }
  const byStoreAtMost = forgets ? 2 * LIMIT : LIMIT;
  const total = { units: 0, bound: 0, byStore: 0, byFallback: 0, windows: windows.size, mostInOne: 0 };
  let broken;
  for (const [number, { byStore, byProcess }] of windows) {
    const byFallback = [...byProcess.values()].reduce((sum, units) => sum + units, 0);
    total.byStore += byStore;
    total.byFallback += byFallback;
    total.units += byStore + byFallback;
    total.bound += LIMIT + byProcess.size * LIMIT;
    total.mostInOne = Math.max(total.mostInOne, byStore + byFallback);
    if (byStore > byStoreAtMost) broken ??= `the store admitted ${byStore} of ${LIMIT} in window ${number}`;
    for (const units of byProcess.values()) {
      if (units > LIMIT) broken ??= `a fallback admitted ${units} of ${LIMIT} in window ${number}`;
    }
  }
  // A window in which the server has forgotten may hold its limit twice: it is at most one in a run.
  if (forgets) total.bound += LIMIT;
  if (total.units > total.bound) broken ??= `${total.units} of ${total.bound}`;
  return { ...total, broken };
}

/** Every attempt that was sent is charged once or, if it never arrived, not at all; every one that the store allowed, exactly once. */
function spentOnce(attempts, counted) {
  const ours = attempts.filter(({ which }) => which === COUNT);
  const sent = ours.filter(({ refused }) => !refused).length;
  const answered = ours.filter(({ source, allowed }) => source === STORE && allowed).length;
  return {
    sent,
    answered,
    counted,
    broken({ forgets }) {
      if (counted > sent) return `Redis counted ${counted}, and ${sent} were sent`;
      return !forgets && counted < answered && `Redis counted ${counted}, and ${answered} were allowed by it`;
    },
  };
}

const NEVER = {
  at: Number.POSITIVE_INFINITY,
  tookMs: Number.POSITIVE_INFINITY,
  reconnectMs: 0,
  lagMs: 0,
  isKnown: true,
};

/** When a process that had to answer by itself was answered by the store again. Undefined if it never had to. */
function recoveryOf({ client, attempts, lags, readyAt }, beganAt, backAt) {
  const hurt = attempts.some(({ startedAt, source }) => startedAt >= beganAt && source === FALLBACK);
  if (!hurt) return undefined;
  const first = attempts.find(({ startedAt, source }) => startedAt >= backAt && source === STORE);
  if (first === undefined) return NEVER;
  const at = first.startedAt + first.tookMs;
  const connectedAt = Math.max(backAt, ...readyAt.filter((time) => time <= at));
  const lagMs = lagDuring(lags, { startedAt: connectedAt, tookMs: at - connectedAt });
  return {
    at,
    tookMs: at - backAt,
    reconnectMs: connectedAt - backAt,
    lagMs,
    isKnown: !SILENT_CLIENTS.includes(client),
  };
}

function late(recoveries, failedProbes) {
  const allowed = (failedProbes + 1) * (RETRY_AFTER_MS + SILENCE_MS) + RECOVERY_MARGIN_MS;
  const worst = largest(
    recoveries.filter((recovery) => recovery?.isKnown),
    ({ tookMs, reconnectMs, lagMs }) => tookMs - reconnectMs - lagMs,
  );
  return worst.value > allowed && `after ${inMs(worst.value)}`;
}

/** Commands: those of the time until the outage is known, and a probe now and then. */
function tooManyQueued(most, perSecond, outageMs) {
  const allowed = Math.ceil((perSecond * 2 * PROMISED_MS) / 1000) + 2 * Math.ceil(outageMs / RETRY_AFTER_MS);
  return most > allowed && `${most} commands, where ${allowed} may be`;
}
