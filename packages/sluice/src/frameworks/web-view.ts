/** The view of a request of the web platform, for adapters whose framework has one beneath: SvelteKit, Elysia, h3 2. */
import type { ClientAddress } from '../http/request-view.ts';
import type { NodeResponse } from './node-http.ts';
import type { NativeView } from './options.ts';
import { peerOf } from './peer.ts';

/** A request as servers over Node make it, which have Node's own objects beside it (srvx). */
export interface ServedRequest extends Request {
  /** The address of the socket's peer. */
  readonly ip?: string | undefined;
  readonly runtime?: { readonly node?: { readonly res?: NodeResponse | undefined } | undefined } | undefined;
  readonly waitUntil?: ((work: Promise<unknown>) => unknown) | undefined;
}

/** What an adapter says of its framework's request. */
export interface WebRequest<Native> {
  readonly native: Native;
  readonly request: ServedRequest;
  /** One object for this request and its response. */
  readonly exchange: object;
  readonly route?: string | undefined;
  /** What the runtime passes beside the request: Bun's server, Deno's connection. */
  readonly beside?: unknown;
  /** The address, as a function of the user's, or the framework, says. */
  readonly ownIp?: (() => string | null | undefined) | undefined;
}

export class WebView<Native> implements NativeView<Native> {
  readonly #about: WebRequest<Native>;

  constructor(about: WebRequest<Native>) {
    this.#about = about;
  }

  get native(): Native {
    return this.#about.native;
  }

  get exchange(): object {
    return this.#about.exchange;
  }

  get method(): string {
    return this.#about.request.method;
  }

  get path(): string {
    return this.#about.request.url;
  }

  get route(): string | undefined {
    return this.#about.route;
  }

  get ip(): string | undefined {
    const { ownIp, request, beside } = this.#about;
    return ownIp === undefined ? (request.ip ?? peerOf(request, beside)) : (ownIp() ?? undefined);
  }

  get client(): ClientAddress | undefined {
    return this.#about.ownIp && { ip: this.ip };
  }

  /** A function by itself, for those who take it out of the view: `({ header }) => header('x-api-key')`. */
  get header(): (name: string) => string | undefined {
    return (name) => this.#about.request.headers.get(name) ?? undefined;
  }
}
