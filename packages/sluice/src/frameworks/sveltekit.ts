/** `sluice/sveltekit`: a `handle` hook for SvelteKit 2 and 3, on whichever adapter. */
import type { RequestResult } from '../http/gate.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { checkPeerOption } from './peer.ts';
import { passResponse } from './responses.ts';
import { WebView } from './web-view.ts';

/** What the hook uses of an event of SvelteKit. */
export interface SvelteKitEvent {
  readonly request: Request;
  /** `event.locals.rateLimit` is what the request was told. */
  readonly locals: object;
  readonly route: { readonly id: string | null };
  /** Whether SvelteKit itself asks, for a `fetch` in a `load` function: such requests are not counted. */
  readonly isSubRequest: boolean;
  readonly platform?: unknown;
  getClientAddress(): string;
}

/** What `rateLimit` takes. */
export interface SvelteKitRateLimitOptions<Event extends SvelteKitEvent = SvelteKitEvent, Context = unknown>
  extends RateLimitOptions<Event, Context> {
  /**
   * The client's address, where `event.getClientAddress()` does not say it. It is believed as it is: never read a header that clients can
   * write.
   */
  readonly ip?: ((event: Event) => string | null | undefined) | undefined;
}

/** A `handle` hook, as `src/hooks.server.ts` exports it. */
export type SvelteKitHandle<Event extends SvelteKitEvent> = <Given extends Event>(input: {
  event: Given;
  resolve(event: Given): MaybePromise<Response>;
}) => Promise<Response>;

/**
 * A `handle` hook. The address is what your adapter says (`event.getClientAddress()`); requests that SvelteKit makes to itself, and pages
 * that are prerendered, are not counted.
 *
 * @example
 * export const handle = rateLimit({ policy: slidingWindowCounter({ limit: 100, window: '1m' }), store: redisStore(client) });
 */
export function rateLimit<Event extends SvelteKitEvent = SvelteKitEvent, Context = unknown>(
  options: SvelteKitRateLimitOptions<Event, Context>,
): SvelteKitHandle<Event> {
  const entrance = entranceOf(options, { own: ['ip'] });
  const ownIp = checkPeerOption(options.ip);
  return async ({ event, resolve }) => {
    if (event.isSubRequest || isPrerendered(event)) return resolve(event);
    const { request, route } = event;
    const address = (): string | null | undefined => (ownIp === undefined ? event.getClientAddress() : ownIp(event));
    const view = new WebView<Event>({
      native: event,
      request,
      exchange: event,
      route: route.id ?? undefined,
      ownIp: address,
    });
    const around = { signal: request.signal, wait: (work: Promise<unknown>) => wait(event.platform, work) };
    return passResponse(entrance, view, around, (result) => {
      (event.locals as { rateLimit?: RequestResult | undefined }).rateLimit = result;
      return resolve(event);
    });
  };
}

/** There is no client then, and SvelteKit throws when somebody asks for its address. Its own requests have this address. */
function isPrerendered({ request }: SvelteKitEvent): boolean {
  return request.url.startsWith('http://sveltekit-prerender');
}

interface Platform {
  /** Cloudflare; before SvelteKit 2.20 as `context`. */
  readonly ctx?: { waitUntil?(work: Promise<unknown>): void } | undefined;
  readonly context?: { waitUntil?(work: Promise<unknown>): void } | undefined;
}

/** Workers end what nobody waits for. */
function wait(platform: unknown, work: Promise<unknown>): void {
  const { ctx, context } = (platform ?? {}) as Platform;
  const waiting = ctx ?? context;
  if (typeof waiting?.waitUntil === 'function') waiting.waitUntil(work);
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
