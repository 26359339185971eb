/** Envoy's quota service on the limits of this server. */
import type { BesideService } from '../envoy/grpc/server.ts';
import { GrpcError, STATUS } from '../grpc/status.ts';
import { Quotas } from '../rlqs/quotas.ts';
import { QUOTA_SERVICE, quotaMethods } from '../rlqs/stream.ts';
import type { RouteContext } from './routes.ts';

export function quotaService({ limits, metrics, crew, guard }: RouteContext): BesideService {
  const quotas = new Quotas({
    quotas: () => limits.config.quotas ?? [],
    limiter: () => limits.limiter,
    events: metrics.rlqs,
    now: () => performance.now(),
    nodes: crew?.size,
  });
  const permitted = (authorization: string | undefined): void => {
    try {
      guard('use', authorization);
    } catch (error) {
      throw new GrpcError(STATUS.UNAUTHENTICATED, (error as Error).message);
    }
  };
  return {
    name: QUOTA_SERVICE,
    methods: quotaMethods({
      quotas,
      guard: permitted,
      onReport: () => metrics.rlqs.reported(),
      onStreams: (change) => metrics.rlqs.streamed(change),
    }),
  };
}
