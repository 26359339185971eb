/** Events of AWS Lambda that are HTTP requests, as the documentation of API Gateway, function URLs and load balancers has them. */
import type { ClientAddress } from '../http/request-view.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import type { NativeView } from './options.ts';

/**
 * An HTTP request as Lambda is given it: by an HTTP API or a function URL (format 2.0), by a REST API (format 1.0), or by an Application Load
 * Balancer. The types of `@types/aws-lambda` are all of this kind.
 */
export interface LambdaEvent {
  readonly rawPath?: string | undefined;
  readonly routeKey?: string | undefined;
  readonly path?: string | undefined;
  readonly httpMethod?: string | undefined;
  readonly resource?: string | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined;
  readonly requestContext: {
    readonly http?: { readonly method: string; readonly sourceIp: string } | undefined;
    readonly identity?: { readonly sourceIp: string } | undefined;
    readonly elb?: object | undefined;
  };
}

/** Whose response a handler's answer becomes: they differ in what they take. */
export type LambdaKind = 'http' | 'rest' | 'alb' | 'alb-multi';

export function kindOf(event: LambdaEvent): LambdaKind {
  const { http, elb, identity } = event?.requestContext ?? {};
  if (http !== undefined) return 'http';
  if (elb !== undefined) return event.headers ? 'alb' : 'alb-multi';
  if (identity !== undefined && event.httpMethod !== undefined) return 'rest';
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: 'event',
    message: `sluice/lambda: expected the event of an HTTP request (API Gateway, a function URL or a load balancer), got ${Kind.of(event).text}. For queues, streams and schedules, ask createLimiter(...) inside the handler.`,
  });
}

const FORWARDED = 'x-forwarded-for';

/** What a gate sees of an event. AWS itself says who the client is, so that address is believed. */
export class LambdaView<Event extends LambdaEvent> implements NativeView<Event> {
  readonly native: Event;
  readonly exchange: object;
  readonly #kind: LambdaKind;
  #headers: Map<string, string> | undefined;

  constructor(native: Event, kind: LambdaKind, exchange: object) {
    this.native = native;
    this.#kind = kind;
    this.exchange = exchange;
  }

  get method(): string {
    return this.native.requestContext.http?.method ?? this.native.httpMethod ?? 'GET';
  }

  get path(): string {
    return this.native.rawPath ?? this.native.path ?? '/';
  }

  /** A route that takes every path is none. */
  get route(): string | undefined {
    const { resource, routeKey } = this.native;
    const route = this.#kind === 'http' ? routeKey?.replace(/^\S+ /, '') : resource;
    return route === undefined || route === '$default' || route.includes('+}') ? undefined : route;
  }

  /** Who is on the other end of what called the function. A load balancer writes it last into X-Forwarded-For. */
  get ip(): string | undefined {
    const { http, identity } = this.native.requestContext;
    const said = http?.sourceIp ?? identity?.sourceIp ?? this.#of(FORWARDED)?.split(',').at(-1)?.trim();
    return said === '' ? undefined : said;
  }

  get client(): ClientAddress {
    return { ip: this.ip };
  }

  /** A function by itself, for those who take it out of the view. */
  get header(): (name: string) => string | undefined {
    return (name) => {
      const lower = name.toLowerCase();
      return lower === FORWARDED ? this.#hops() : this.#of(lower);
    };
  }

  /** AWS adds the address that `ip` is, and those of its own hops after it: a walk that begins at `ip` goes on before them. */
  #hops(): string | undefined {
    const { ip = '' } = this;
    const hops = this.#of(FORWARDED)
      ?.split(',')
      .map((hop) => hop.trim());
    const at = hops?.lastIndexOf(ip) ?? -1;
    if (hops === undefined || at === 0) return undefined;
    return (at < 0 ? hops : hops.slice(0, at)).join(', ');
  }

  #of(name: string): string | undefined {
    this.#headers ??= headersOf(this.native);
    return this.#headers.get(name);
  }
}

/** Whatever the case of their names; the lines of one header joined. */
function headersOf({ headers, multiValueHeaders }: LambdaEvent): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(headers ?? {})) if (value) found.set(name.toLowerCase(), value);
  for (const [name, values] of Object.entries(multiValueHeaders ?? {})) {
    if (values) found.set(name.toLowerCase(), values.join(', '));
  }
  return found;
}
