/**
 * Keeps other people's web pages out. A page that somebody has open can send requests to every server this somebody can reach, one on localhost
 * included, and no token protects what needs none. Browsers say where a request comes from (`Origin`, `Sec-Fetch-Site`), and a page that has its own
 * name point here (DNS rebinding) cannot hide that name (`Host`). Programs that are no browsers send none of this, and are asked nothing.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { HttpError } from './http-error.ts';

/** What of this a route needs not. */
export interface Openness {
  /** The same for everyone, and changes nothing: other pages may link to it. */
  readonly isForEveryone: boolean;
  /** Health checks come under whatever name the balancer has for a server. */
  readonly isUnderAnyHost: boolean;
  /** Gateways ask on behalf of browsers, and pass on what those say of themselves. */
  readonly isForGateways: boolean;
}

export class BrowserGuard {
  readonly #allowed: readonly string[];
  readonly #isTls: boolean;
  /** Nearly all requests come under one name. */
  #lastHost = '';

  /** `allowed`: names, `*.example.com` for all below one, `*` for all. With TLS a page cannot pretend: its name is not in the certificate. */
  constructor(allowed: readonly string[], isTls: boolean) {
    this.#allowed = allowed.map((name) => name.toLowerCase());
    this.#isTls = isTls;
  }

  /** Throws what the caller is told. */
  check({ headers }: IncomingMessage, { isForEveryone, isUnderAnyHost, isForGateways }: Openness): void {
    if (!isUnderAnyHost) this.#checkHost(headers.host);
    if (isForEveryone || (isForGateways && cameThroughGateway(headers))) return;
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') throw crossSite(`Sec-Fetch-Site is ${site}`);
    const { origin } = headers;
    if (origin !== undefined && !this.#isOwn(origin, headers.host)) throw crossSite(`Origin is ${origin}`);
  }

  #checkHost(host: string | undefined): void {
    if (host === undefined || host === this.#lastHost || this.#isTls) return;
    const name = nameIn(host);
    if (!isSafeName(name) && !this.#isAllowed(name)) throw wrongHost(name);
    this.#lastHost = host;
  }

  #isAllowed(name: string): boolean {
    return this.#allowed.some(
      (pattern) => pattern === '*' || pattern === name || (pattern.startsWith('*.') && name.endsWith(pattern.slice(1))),
    );
  }

  /** Behind a proxy the page may have another name than the server, which then is one of those that are allowed. */
  #isOwn(origin: string, host: string | undefined): boolean {
    if (!URL.canParse(origin)) return false;
    const url = new URL(origin);
    return url.host === host?.toLowerCase() || (url.hostname !== '' && this.#isAllowed(url.hostname));
  }
}

/** Without its port, in lower case. */
function nameIn(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
}

/** No name that somebody could have in the DNS: addresses, loopback names, and names without a dot, as Docker and Kubernetes give them. */
function isSafeName(name: string): boolean {
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  return isAddress || !name.includes('.') || name.endsWith('.localhost');
}

/** A page of another site cannot send these without asking first, which is refused. */
const GATEWAY_HEADERS = [
  ...['x-forwarded-for', 'x-forwarded-uri', 'x-forwarded-method', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded'],
  ...['x-original-uri', 'x-original-method', 'x-real-ip', 'x-sluice-key', 'via'],
];

function cameThroughGateway(headers: IncomingHttpHeaders): boolean {
  return GATEWAY_HEADERS.some((name) => headers[name] !== undefined);
}

/** Programs other than browsers do not send these by themselves. */
export function looksLikeBrowser({ headers }: IncomingMessage): boolean {
  return ['origin', 'sec-fetch-site', 'referer'].some((name) => headers[name] !== undefined);
}

function crossSite(what: string): HttpError {
  const message = `${what}: a page of another site may not ask this server.`;
  return new HttpError(403, 'cross_site', message, { headers: CLOSE });
}

function wrongHost(name: string): HttpError {
  const short = name.slice(0, 253);
  const message =
    `${JSON.stringify(short)} is not a name of this server. ` +
    `Start it with --allowed-hosts ${short}, or let your gateway send the address of the server as Host.`;
  return new HttpError(403, 'wrong_host', message, { path: 'host', headers: CLOSE });
}

/** Whether a body follows nobody knows, and nobody reads it. */
const CLOSE = { Connection: 'close' };
