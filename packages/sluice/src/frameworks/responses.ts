/** What adapters have in common whose handlers return a `Response`: `sluice/fetch`, SvelteKit, h3 2. */
import type { Denial } from '../http/denial.ts';
import type { GateDecision, RequestResult } from '../http/gate.ts';
import type { HeaderValues } from '../http/headers.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import type { Entrance, NativeView } from './options.ts';
import { holding } from './response-body.ts';

/** Next.js middleware may answer with nothing, and so may a handler in Bun that has upgraded to a WebSocket. */
export type Answer = Response | null | undefined;

/** What the way of a request needs to know of its runtime. */
export interface Surroundings {
  readonly signal: AbortSignal | undefined;
  /** Is told of work that outlives the response. */
  wait(work: Promise<unknown>): void;
}

/** The whole way of a request whose response is an object. `handle` is called with what the request was told. */
export async function passResponse<Native, Res extends Answer>(
  { enter, conclude }: Entrance<Native>,
  view: NativeView<Native>,
  { signal, wait }: Surroundings,
  handle: (result: RequestResult | undefined) => MaybePromise<Res>,
): Promise<Res | Response> {
  const entered = enter(view);
  const decision: GateDecision = await entered;
  if (!decision.allowed) return denialResponse(decision.response, view.method);
  const response = await holding(decision.permit, signal, wait)(async () => handle(decision.result));
  if (response === undefined || response === null) return response;
  if (conclude !== undefined) wait(conclude(decision, view, response.status));
  return withHeaders(response, decision.headers);
}

/** To a HEAD without a body, which it must not have. */
export function denialResponse({ status, headers, body }: Denial, method: string): Response {
  return new Response(method === 'HEAD' ? null : body, { status, headers });
}

/** A response that came from elsewhere, or was made by a shorthand, may not be written to; a copy of it may. */
function withHeaders(response: Response, headers: HeaderValues): Response {
  if (!isOrdinary(response)) return response;
  try {
    return setHeaders(response, headers);
  } catch {
    return setHeaders(new Response(response.body, response), headers);
  }
}

function setHeaders(response: Response, headers: HeaderValues): Response {
  for (const name in headers) response.headers.set(name, headers[name]!);
  return response;
}

/** A switch of protocols is between the handler and the runtime, and an error has no headers. */
function isOrdinary({ status }: Response): boolean {
  return status >= 200;
}
