/** The rate limit service over gRPC, with health and reflection beside it. */
import type { TlsFiles } from '../../files/tls.ts';
import type { CallLimits } from '../../grpc/calls.ts';
import { healthOf } from '../../grpc/health.ts';
import { reflectionOf } from '../../grpc/reflection.ts';
import { type ConnectionAge, createGrpcServer, type GrpcServer, type Method } from '../../grpc/server.ts';
import { GrpcError, STATUS } from '../../grpc/status.ts';
import { type RateLimitRequest, ServiceError } from '../request.ts';
import type { RateLimitResponse } from '../response.ts';
import { readRequest, writeResponse } from './messages.ts';

export interface EnvoyServerOptions {
  /** `waitsMs` is how long the caller waits for it, as far as it said so. */
  answer(request: RateLimitRequest, waitsMs: number): Promise<RateLimitResponse>;
  /** Throws when the caller may not ask, or not that. */
  guard(authorization: string | undefined, request?: RateLimitRequest): void;
  /** Called with what is no mistake of the client. */
  onError(error: unknown): void;
  /** Asked again and again while the server listens. */
  isHealthy(): Promise<boolean>;
  /** Further services on the same port. */
  readonly beside?: readonly BesideService[] | undefined;
  readonly maxMessageBytes?: number | undefined;
  readonly callLimits?: CallLimits | undefined;
  readonly connectionAge?: ConnectionAge | undefined;
  readonly maxConcurrent?: number | undefined;
  readonly tls?: TlsFiles | undefined;
}

/** A service with its full name, and its methods by their paths. */
export interface BesideService {
  readonly name: string;
  readonly methods: readonly (readonly [path: string, method: Method])[];
}

const RATE_LIMIT_SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';
/** The whole server, and the service by the name that the reference server has for it. */
const HEALTH_NAMES = ['', 'ratelimit'];

export function createEnvoyServer(options: EnvoyServerOptions): GrpcServer {
  const { beside = [] } = options;
  const names = beside.map(({ name }) => name);
  const health = healthOf([...HEALTH_NAMES, ...names]);
  const services = [RATE_LIMIT_SERVICE, ...names, 'grpc.health.v1.Health'];
  const methods = new Map<string, Method>([
    [`/${RATE_LIMIT_SERVICE}/ShouldRateLimit`, { unary: shouldRateLimitOf(options) }],
    ...health.methods,
    ...beside.flatMap(({ methods }) => methods),
    ...reflectionOf(services, (authorization) => permitted(() => options.guard(authorization))),
  ]);
  const server = createGrpcServer({ ...options, methods });
  const watch = healthWatch(options.isHealthy, health.set);
  return {
    useCertificate: server.useCertificate,
    async listen(address) {
      await watch.start();
      try {
        return await server.listen(address);
      } catch (error) {
        watch.stop();
        throw error;
      }
    },
    async drain(timeoutMs) {
      watch.stop();
      health.set(false);
      await server.drain(timeoutMs);
    },
  };
}

function shouldRateLimitOf({ answer, guard, onError }: EnvoyServerOptions) {
  const failed = (error: unknown): never => {
    if (!(error instanceof ServiceError)) onError(error);
    throw new GrpcError(STATUS.UNKNOWN, errorMessage(error));
  };
  return {
    async answer(message: Buffer, { authorization, waitsMs }: { authorization: string | undefined; waitsMs: number }) {
      const request = readRequest(message);
      permitted(() => guard(authorization, request));
      return writeResponse(await answer(request, waitsMs).catch(failed));
    },
  };
}

function permitted(guard: () => void): void {
  try {
    guard();
  } catch (error) {
    throw new GrpcError(STATUS.UNAUTHENTICATED, (error as Error).message);
  }
}

/** With what the store said, if it was the store. */
function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

const HEALTH_INTERVAL_MS = 1000;

function healthWatch(isHealthy: EnvoyServerOptions['isHealthy'], set: (isHealthy: boolean) => void) {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async (): Promise<void> => {
    const healthy = await isHealthy();
    if (!isStopped) set(healthy);
  };
  return {
    async start(): Promise<void> {
      await look();
      timer = setInterval(() => void look(), HEALTH_INTERVAL_MS).unref();
    },
    stop(): void {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
