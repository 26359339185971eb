/**
 * A place that a request holds where responses are objects: it is free when the body has been read to its end, was cancelled or failed, when there
 * is none, when the handler failed, and when the client has hung up.
 */
import { inBackground } from '../model/maybe-promise.ts';
import type { Permit } from '../model/permit.ts';

type Body = Response | null | undefined;

/** Calls the handler. `wait` is told of work that outlives the response. Without a permit the response is left as it is. */
export function holding(
  permit: Permit | undefined,
  signal: AbortSignal | undefined,
  wait: (work: Promise<unknown>) => void,
): <Res extends Body>(handle: () => Res | Promise<Res>) => Promise<Res | Response> {
  if (permit === undefined) return async (handle) => handle();
  const release = (): void => inBackground(() => permit.release());
  return async (handle) => {
    if (signal?.aborted) release();
    signal?.addEventListener('abort', release, { once: true });
    try {
      const response = await handle();
      if (response?.body) return withBody(response, release, wait);
      wait(permit.release().catch(() => false));
      return response;
    } catch (error) {
      release();
      throw error;
    }
  };
}

/** The same response, whose body says when it has ended. */
function withBody(response: Response, release: () => void, wait: (work: Promise<unknown>) => void): Response {
  let ended!: () => void;
  // A worker goes on as long as somebody waits for it, and the body may be sent after the handler is done.
  wait(
    new Promise<void>((resolve) => {
      ended = resolve;
    }),
  );
  const end = (): void => {
    release();
    ended();
  };
  const reader = response.body!.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch (error) {
        end();
        controller.error(error);
      }
    },
    cancel(reason) {
      end();
      return reader.cancel(reason);
    },
  });
  return new Response(body, response);
}
