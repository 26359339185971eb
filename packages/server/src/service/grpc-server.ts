/** Everything that is asked over gRPC, on one server: Envoy's limits and quotas, and Kuadrant's calls. */
import { type KuadrantOptions, kuadrantService } from '../envoy/grpc/kuadrant.ts';
import { createEnvoyServer, type EnvoyServerOptions } from '../envoy/grpc/server.ts';
import { shouldRateLimit } from '../envoy/should-rate-limit.ts';
import type { GrpcServer } from '../grpc/server.ts';
import { envoyAccess, envoyContext, isHealthy } from './envoy-routes.ts';
import { HURRIED_BELOW_MS } from './open-store.ts';
import { quotaService } from './quota-service.ts';
import type { RouteContext } from './routes.ts';
import type { ServiceOptions } from './service.ts';

export function openGrpcServer(context: RouteContext, { tls, grpc }: ServiceOptions): GrpcServer {
  const beside = [quotaService(context), kuadrantService(kuadrantOptions(context))];
  return createEnvoyServer({ ...grpcOptions(context), ...grpc, beside, tls });
}

function grpcOptions(context: RouteContext): EnvoyServerOptions {
  return {
    answer: (request, waitsMs) =>
      shouldRateLimit(request, envoyContext(context, { isHurried: waitsMs < HURRIED_BELOW_MS })),
    guard: (authorization, request) => context.guard(envoyAccess(request, context.envoy), authorization),
    isHealthy: () => isHealthy(context),
    onError: context.onError,
    maxMessageBytes: context.bodyLimits.maxBytes,
  };
}

function kuadrantOptions(context: RouteContext): KuadrantOptions {
  return {
    context: ({ waitsMs }) => envoyContext(context, { isHurried: waitsMs < HURRIED_BELOW_MS }),
    guard: (authorization, request) => context.guard(envoyAccess(request, context.envoy), authorization),
    onError: context.onError,
    onCall: (call, result) => context.metrics.envoy.called(call, result),
  };
}
