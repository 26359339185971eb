/** Where runtimes that speak `Request` and `Response` tell who is on the other end: in what they pass along beside the request. */
import { checkFunction } from '../model/options.ts';

/** What Bun's server and Deno's connection info have of it. */
export interface Peer {
  /** Bun */
  requestIP?(request: Request): { readonly address: string } | null;
  /** Deno */
  readonly remoteAddr?: { readonly hostname?: string | undefined } | undefined;
}

/** Undefined where the runtime does not say: then a key by address is an error, and no key is made up. */
export function peerOf(request: Request, beside: unknown): string | undefined {
  if (typeof beside !== 'object' || beside === null) return undefined;
  const { requestIP, remoteAddr } = beside as Peer;
  if (typeof requestIP === 'function') return requestIP.call(beside, request)?.address;
  return remoteAddr?.hostname;
}

export function checkPeerOption<Ip>(ip: Ip): Ip {
  checkFunction(ip, 'rateLimit.ip');
  return ip;
}
