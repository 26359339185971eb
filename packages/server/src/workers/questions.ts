/** What the processes of one server ask each other. All of it is plain data. */

import type { IncomingHttpHeaders } from 'node:http';
import type { TlsFiles } from '../files/tls.ts';
import type { FoundFiles } from '../service/load-config.ts';
import type { Counts } from '../service/metrics.ts';

/** Asked by the primary process, which has the port and keeps the workers; or passed on by it. */
export type ToWorker =
  /** The first. Answered with `Listening` when it takes requests. */
  | { readonly verb: 'start'; readonly start: Start }
  /** Answered with a `Report`. */
  | { readonly verb: 'report'; readonly seconds: number }
  /** Whether this would do as a config; rejects if not. */
  | { readonly verb: 'prepare'; readonly found: FoundFiles }
  /** It holds from now on. Answered with `Applied`. */
  | { readonly verb: 'apply'; readonly found: FoundFiles }
  /** For connections from now on. */
  | { readonly verb: 'use-certificate'; readonly tls: TlsFiles }
  /** Answered when nothing is left to answer. */
  | { readonly verb: 'drain'; readonly timeoutMs: number }
  /** Nobody of the others needs it any more. */
  | { readonly verb: 'end' }
  | Passed;

/** What one worker asks another. */
export type Passed =
  | { readonly verb: 'forget-denials'; readonly keys: readonly string[] }
  | { readonly verb: 'lab'; readonly request: PassedRequest };

/** Asked by a worker. */
export type ToPrimary =
  /** The first: it can be spoken to. */
  | { readonly verb: 'hello' }
  /** Answered with `Gathered`. */
  | { readonly verb: 'gather'; readonly seconds: number }
  /** To a worker by its id, or to the one that has the lab. Answered with `{ answer }`, or undefined when it is gone. */
  | { readonly verb: 'pass'; readonly to: number | 'lab'; readonly question: Passed }
  /** To all others. Answered when all have done it, or too much time has passed. */
  | { readonly verb: 'pass-to-others'; readonly question: Passed }
  /** Told every second, so that the counters of a worker that dies are not lost. */
  | { readonly verb: 'counted'; readonly counts: Counts }
  /** Why it ends now. */
  | { readonly verb: 'crashed'; readonly cause: string }
  /** What no waiting mends: the whole server ends. */
  | { readonly verb: 'failed'; readonly message: string };

/** What a worker begins with. `Options` are those of the command. */
export interface Start<Options = unknown> {
  readonly options: Options;
  /** The certificate that came since. */
  readonly tls?: TlsFiles | undefined;
  /** What the config is made of. Undefined without one. */
  readonly found: FoundFiles | undefined;
  readonly id: number;
  readonly size: number;
  /** The first to start at all says what all of them would say. */
  readonly isFirst: boolean;
  /** It takes the place of one that died: what was required at the start was there. */
  readonly isReplacement: boolean;
}

export interface Listening {
  readonly url: string;
  readonly grpc: string | undefined;
  /** Where the state is kept, for people. */
  readonly store: string;
  readonly hasLab: boolean;
}

/** About gRPC, which is opened with the first domain. */
export interface Applied {
  readonly opened?: string | undefined;
  readonly problem?: string | undefined;
}

/** A request to the lab, with its body. */
export interface PassedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly isSecure: boolean;
  readonly body: string;
}
