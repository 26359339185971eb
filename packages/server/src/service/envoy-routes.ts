/** The HTTP side of the Envoy service, with the statuses and texts of the reference server. */
import { dumpDomains } from '../envoy/dump.ts';
import { readRequest, responseJson } from '../envoy/protojson.ts';
import { givesBack, type RateLimitRequest, ServiceError } from '../envoy/request.ts';
import type { EnvoySettings } from '../envoy/settings.ts';
import { type EnvoyContext, shouldRateLimit } from '../envoy/should-rate-limit.ts';
import { type Answer, json, text } from './answer.ts';
import { toHttpError } from './http-error.ts';
import { isOfUse } from './open-store.ts';
import { readText } from './read-body.ts';
import type { Asked, Route, RouteContext } from './routes.ts';
import type { Access } from './token.ts';

export function envoyContext(
  { limits, metrics, envoy: settings }: RouteContext,
  { isHurried = false } = {},
): EnvoyContext {
  const limiter = isHurried ? limits.hurriedLimiter : limits.limiter;
  return { domains: limits.config.envoy, limiter, settings, stats: metrics.envoy };
}

/** Who gives back changes what others have spent, unless everybody may. */
export function envoyAccess(request: RateLimitRequest | undefined, { negativeHits }: EnvoySettings): Access {
  return negativeHits === 'token' && request !== undefined && givesBack(request) ? 'change' : 'use';
}

/** Not while it drains, while the store is of no use, or without a domain where one is wanted. */
export async function isHealthy({ store, isDraining, envoy, limits }: RouteContext): Promise<boolean> {
  if (isDraining() || (envoy.needsConfig && (limits.config.envoy?.size ?? 0) === 0)) return false;
  return isOfUse(store, !store.failsClosed || (await store.isUp()));
}

async function answerJson({ request }: Asked, context: RouteContext): Promise<Answer> {
  try {
    const asked = readRequest(await readText(request, context.bodyLimits));
    context.guard(envoyAccess(asked, context.envoy), request.headers.authorization);
    const response = await shouldRateLimit(asked, envoyContext(context));
    return json(response.overallCode === 'OK' ? 200 : 429, responseJson(response));
  } catch (error) {
    return badRequest(error, context);
  }
}

/** What the client did wrong, and what the store failed, which the log is told of. Bodies that are too long or too slow are told as everywhere. */
function badRequest(error: unknown, { onError }: RouteContext): Answer {
  const { status } = toHttpError(error);
  if (!(error instanceof ServiceError) && status !== 400 && status !== 503) throw error;
  if (!(error instanceof ServiceError)) onError(error);
  return text(400, 'Bad Request\n');
}

/** The reference server does not look at the method. */
const ANY_METHOD = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export const ENVOY_ROUTES: readonly Route[] = [
  { methods: ANY_METHOD, path: '/json', access: 'use', handle: answerJson },
  {
    methods: ['GET'],
    path: '/healthcheck',
    access: 'open',
    openness: { isForEveryone: true, isUnderAnyHost: true },
    handle: async (_, context) => ((await isHealthy(context)) ? text(200, 'OK') : text(500, 'Internal Server Error\n')),
  },
  {
    methods: ['GET'],
    path: '/rlconfig',
    access: 'use',
    handle: async (_, { limits }) => text(200, dumpDomains(limits.config.envoy ?? new Map())),
  },
];
