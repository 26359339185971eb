/**
 * Fastify runs plugins late: after `app.register(rateLimit, ...)` without `await`, the routes that follow it are there before it, and not
 * limited. Nobody sees that from outside, so the first request to such a route is told of.
 */
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { Kind, type Mistake } from '../model/errors.ts';
import { type OnWarning, warnOnce } from '../model/warnings.ts';

/** Returns what is to be told of each route that the plugin does see. Where there are no routes yet, nothing is watched. */
export function watchEarlierRoutes(
  app: FastifyInstance,
  isGlobal: boolean,
  onWarning: OnWarning | undefined,
): (route: RouteOptions) => void {
  if (app.printRoutes() === NO_ROUTES) return () => {};
  const seen = new Set<string>();
  let isTold = false;
  const isMeant = ({ is404, routeOptions: { config } }: FastifyRequest): boolean =>
    !is404 && (config.rateLimit === undefined ? isGlobal : config.rateLimit !== false);
  const look = (request: FastifyRequest): void => {
    const route = nameOf(request.method, request.routeOptions.url);
    if (seen.has(route) || !isMeant(request)) return;
    isTold = true;
    warnOnce(onWarning)(unlimited(route));
  };
  app.addHook('onRequest', (request, _reply, done) => {
    if (!isTold) look(request);
    done();
  });
  return ({ method, url }) => {
    for (const each of [method].flat()) seen.add(nameOf(each, url));
  };
}

const NO_ROUTES = '(empty tree)';

function nameOf(method: string, url: string | undefined): string {
  return `${method} ${url}`;
}

function unlimited(route: string): Mistake {
  return {
    code: 'SLUICE_UNLIMITED_ROUTE',
    path: route,
    expected: 'to be declared after the plugin, which limits no route that was there before it',
    got: new Kind('declared before it'),
  };
}
