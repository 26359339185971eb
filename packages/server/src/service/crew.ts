/**
 * What a service says of itself, and of the processes that answer beside it on the same port. Whoever of them is asked tells of all. A server
 * that is one process is a crew of one, without anybody to ask.
 */
import type { TlsFiles } from '../files/tls.ts';
import type { StoreState } from './live-store.ts';
import type { LiveState } from './live-sums.ts';
import { type Counts, type Metrics, type ProcessUse, processUse } from './metrics.ts';
import { isOfUse, type OpenStore } from './open-store.ts';
import { certificateEnd } from './watch-tls.ts';

/** What one process says of itself. It is plain data. */
export interface Report {
  readonly counts: Counts;
  readonly live: LiveState;
  readonly isDraining: boolean;
  readonly use: ProcessUse;
  /** Unix time at which the certificate ends that is shown. Undefined without TLS. */
  readonly certificateEndsAt?: number | undefined;
  readonly store: {
    readonly isUp: boolean;
    readonly serversAway: number;
    readonly isOfUse: boolean;
    readonly state: StoreState;
    /** In a sentence. */
    readonly problem?: string | undefined;
  };
}

/** What all of them say. */
export interface Gathered {
  /** Of all, those that have ended since the start too. */
  readonly counts: Counts;
  /** Of those that answered, at least one. */
  readonly reports: readonly Report[];
  /** Undefined where one process is the whole server. */
  readonly workers?: Workers | undefined;
}

export interface Workers {
  readonly count: number;
  /** Those that did not answer in time: what the others say is not all. */
  readonly silent: readonly number[];
}

/** The processes beside this one. */
export interface Crew {
  /** Of this process. No other has it, nor will one that takes its place. */
  readonly id: number;
  readonly size: number;
  /** Never rejects: what is missing is in the answer. */
  gather(seconds: number, own: () => Promise<Report>): Promise<Gathered>;
}

export interface Reporting {
  readonly metrics: Metrics;
  readonly store: OpenStore;
  readonly crew?: Crew | undefined;
  /** What is shown now. Default: nothing, without TLS. */
  certificate?(): TlsFiles | undefined;
  isDraining(): boolean;
}

export async function reportOf(
  { metrics, store, certificate, isDraining }: Reporting,
  seconds: number,
): Promise<Report> {
  const isUp = await store.isUp();
  const problem = store.problem?.();
  const tls = certificate?.();
  return {
    counts: metrics.counts(),
    live: metrics.live.state(seconds),
    isDraining: isDraining(),
    use: processUse(),
    ...(tls === undefined ? {} : { certificateEndsAt: certificateEnd(tls) }),
    store: {
      isUp,
      serversAway: store.serversAway?.() ?? 0,
      isOfUse: isOfUse(store, isUp),
      state: metrics.live.storeState(isUp),
      ...(problem === undefined ? {} : { problem }),
    },
  };
}

/** With the last `seconds` one by one. */
export async function gather(context: Reporting, seconds = 0): Promise<Gathered> {
  const own = () => reportOf(context, seconds);
  if (context.crew !== undefined) return context.crew.gather(seconds, own);
  const report = await own();
  return { counts: report.counts, reports: [report] };
}

/** One that does not have the store is enough: some requests are answered without it. */
export function storeOf({ reports }: Gathered): Pick<Report['store'], 'isUp' | 'state' | 'problem'> {
  const stores = reports.map(({ store }) => store);
  const down = stores.filter(({ isUp }) => !isUp);
  const problem = stores.find((store) => store.problem !== undefined)?.problem;
  const ages = (down.length > 0 ? down : stores).map(({ state }) => state.secondsAgo);
  return {
    isUp: down.length === 0,
    // Down since the first of them is; up since the last of them is.
    state:
      down.length > 0
        ? { state: 'down', secondsAgo: Math.max(...ages) }
        : { state: 'up', secondsAgo: Math.min(...ages) },
    problem,
  };
}

/** In a sentence, or undefined when all have answered. */
export function silenceText({ workers }: Pick<Gathered, 'workers'>): string | undefined {
  if (workers === undefined || workers.silent.length === 0) return undefined;
  const who = workers.silent.length === 1 ? `Worker ${workers.silent[0]}` : `Workers ${workers.silent.join(', ')}`;
  return `${who} of ${workers.count} did not answer in time.`;
}
