/**
 * What `sluice/http` needs to know of a request. Each framework's adapter makes one of these in a few lines; nothing here
 * knows a framework.
 */
import type { Mistake } from '../model/errors.ts';
import type { Warn } from '../model/warnings.ts';

/** What a key function sees of a request, in every framework. `native` is the request of the framework itself. */
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
   * What the framework says about the client's address, where it has a setting of its own for proxies that is turned on (`trust proxy`,
   * `trustProxy`, `app.proxy`), or where you gave an `ip` function. `byIp()` takes this address unless it has `trustedProxies`.
   */
  readonly client?: ClientAddress | undefined;
  /**
   * The request as the framework hands it out: `byUser` reads it. Undefined in views made by hand.
   */
  readonly native?: Native | undefined;
  /**
   * One object for this request and its response. With it, a gate notices that it counts one request twice; without it, a request object
   * that is used again, as tests do, is another request.
   */
  readonly exchange?: object | undefined;
}

/** The address of a client, as its framework found it. */
export interface ClientAddress {
  readonly ip: string | undefined;
  /** What is wrong with the framework's setting for proxies, to be warned of. */
  readonly mistake?: Mistake | undefined;
}

/**
 * Who is limited. Undefined or '' means that this request does not say: `firstOf` asks the next key, and a gate answers with the
 * status of its option `missing`. A key is never made up. `warn` is called with mistakes in the setup that only traffic shows.
 */
export type Key<Native = unknown> = (view: RequestView<Native>, warn?: Warn) => string | undefined;
