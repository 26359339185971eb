/**
 * What `sluice/http` needs to know of a request. Each framework's adapter makes one of these in a few lines; nothing here
 * knows a framework.
 */
import type { Warn } from './warnings.ts';

export interface RequestView<Native = unknown> {
  readonly method: string;
  /** The request target as it came; a query or an origin in it does not matter. */
  readonly path: string;
  /** The pattern that matched, such as `/users/:id`, where the framework knows it before the handler runs. */
  readonly route?: string | undefined;
  /** The value of a header, whatever the case of its name; several lines of one header are joined with ", ". */
  header(name: string): string | undefined;
  /** The address of the socket's peer, never one that a header claims. Undefined when there is none (a Unix socket). */
  readonly ip: string | undefined;
  /**
   * The request as the framework hands it out: `byUser` reads it, and it tells requests apart. Undefined in views made by
   * hand.
   */
  readonly native?: Native | undefined;
}

/**
 * Who is limited. Undefined means that this request does not say, which is for `firstOf` or the gate to settle: a key is
 * never made up. `warn` is told of mistakes in the setup that only traffic shows.
 */
export type Key<Native = unknown> = (view: RequestView<Native>, warn?: Warn) => string | undefined;
