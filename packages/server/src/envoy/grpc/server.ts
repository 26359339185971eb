/** The rate limit service over gRPC, with health and reflection beside it. Nothing here knows what a limit is. */
import { type AddressInfo, createServer as createNetServer, type Server as NetServer } from 'node:net';
import {
  logVerbosity,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  setLogVerbosity,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation, protoPath } from 'grpc-health-check';
import type { TlsFiles } from '../../files/tls.ts';
import { type RateLimitRequest, ServiceError } from '../request.ts';
import type { RateLimitResponse } from '../response.ts';
import { CALL_LIMITS, type CallLimits, Calls } from './calls.ts';
import { PROTOS, typedMethod } from './protos.ts';

export interface GrpcOptions {
  /** `waitsMs` is how long the caller waits for it, as far as it said so. */
  answer(request: RateLimitRequest, waitsMs: number): Promise<RateLimitResponse>;
  /** Throws when whoever asks may not, or not that. */
  guard(authorization: string | undefined, request?: RateLimitRequest): void;
  /** Told of what is no mistake of the client. */
  onError(error: unknown): void;
  /** Asked again and again while the server listens. */
  isHealthy(): Promise<boolean>;
  readonly maxMessageBytes?: number | undefined;
  readonly callLimits?: CallLimits | undefined;
  readonly tls?: TlsFiles | undefined;
}

export interface GrpcServer {
  /** Resolves to the port. */
  listen(port: number, host: string): Promise<number>;
  /** Not healthy from now on; finishes what it has. What takes longer is cut off. */
  drain(timeoutMs: number): Promise<void>;
}

const MAX_MESSAGE_BYTES = 256 * 1024;
/** Each is some 10 kB while its answer is not read. Envoy opens further connections for more. */
const MAX_CONCURRENT_STREAMS = 100;
/** Of one connection, beyond which it takes no further call. */
const MAX_SESSION_MB = 4;
/** So that clients find new servers behind a balancer now and then. */
const MAX_CONNECTION_AGE_MS = 24 * 3600 * 1000;
const CONNECTION_AGE_GRACE_MS = 60_000;

/** The whole server, and the service by the name that the reference server has for it. */
const HEALTH_NAMES = ['', 'ratelimit'] as const;

// What it has to say comes as errors; its own lines would stand among those of the log, which are JSON.
setLogVerbosity(logVerbosity.NONE);

const REFLECTION = new ReflectionService({ ...PROTOS, ...loadSync(protoPath) });

export function createGrpcServer(options: GrpcOptions): GrpcServer {
  const method = typedMethod();
  const calls = new Calls(options.callLimits ?? CALL_LIMITS);
  const server = new Server({
    interceptors: [calls.interceptor(method.path)],
    'grpc.max_receive_message_length': options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': MAX_CONCURRENT_STREAMS,
    'grpc-node.max_session_memory': MAX_SESSION_MB,
    'grpc.max_connection_age_ms': MAX_CONNECTION_AGE_MS,
    'grpc.max_connection_age_grace_ms': CONNECTION_AGE_GRACE_MS,
  });
  const health = new HealthImplementation(Object.fromEntries(HEALTH_NAMES.map((name) => [name, 'SERVING' as const])));
  const setHealthy = (isHealthy: boolean): void => {
    for (const name of HEALTH_NAMES) health.setStatus(name, isHealthy ? 'SERVING' : 'NOT_SERVING');
  };
  const watch = healthWatch(options.isHealthy, setHealthy);
  const service = { ShouldRateLimit: method } as unknown as ServiceDefinition;
  server.addService(service, { ShouldRateLimit: handler(options, calls) });
  health.addToServer(server);
  REFLECTION.addToServer(guarded(server, options));
  const door = doorOf(server, credentialsOf(options.tls), calls);
  return {
    async listen(port, host) {
      await watch.start();
      try {
        return await listen(door, port, host);
      } catch (error) {
        watch.stop();
        throw error;
      }
    },
    async drain(timeoutMs) {
      watch.stop();
      setHealthy(false);
      await shutDown(server, door, calls, timeoutMs);
      calls.close();
    },
  };
}

const HEALTH_INTERVAL_MS = 1000;

function healthWatch(isHealthy: GrpcOptions['isHealthy'], set: (isHealthy: boolean) => void) {
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

type Stream = ServerDuplexStream<unknown, unknown>;

type Call = ServerUnaryCall<RateLimitRequest, RateLimitResponse>;

function handler({ answer, guard, onError }: GrpcOptions, calls: Calls) {
  return (call: Call, callback: sendUnaryData<RateLimitResponse>): void => {
    try {
      guard(authorizationIn(call.metadata), call.request);
    } catch (error) {
      callback({ code: status.UNAUTHENTICATED, details: (error as Error).message });
      return;
    }
    calls.underWay += 1;
    answer(call.request, Number(call.getDeadline()) - Date.now())
      .then(
        (response) => callback(null, response),
        (error: unknown) => {
          if (!(error instanceof ServiceError)) onError(error);
          callback({ code: status.UNKNOWN, details: errorMessage(error) });
        },
      )
      .finally(() => {
        calls.underWay -= 1;
      });
  };
}

/** The server for services that do not know of tokens: before each of their streams begins, whoever asks is looked at. */
function guarded(server: Server, { guard }: GrpcOptions): Server {
  const looked = (begin: (stream: Stream) => void) => (stream: Stream) => {
    try {
      guard(authorizationIn(stream.metadata));
    } catch (error) {
      stream.emit('error', { code: status.UNAUTHENTICATED, details: (error as Error).message });
      return;
    }
    begin(stream);
  };
  const addService: Server['addService'] = (definition, methods) => {
    const entries = Object.entries(methods).map(([name, method]) => [name, looked(method as (stream: Stream) => void)]);
    server.addService(definition, Object.fromEntries(entries));
  };
  return { addService } as unknown as Server;
}

function authorizationIn(metadata: Metadata): string | undefined {
  return metadata.get('authorization')[0]?.toString();
}

/** With what the store said, if it was the store. */
function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

function credentialsOf(tls: TlsFiles | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const pair = { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) };
  const clientCa = tls.clientCa === undefined ? null : Buffer.from(tls.clientCa);
  return ServerCredentials.createSsl(clientCa, [pair], clientCa !== null);
}

/** Connections come through here, so that one can be closed. */
function doorOf(server: Server, credentials: ServerCredentials, calls: Calls): NetServer {
  const { injectConnection } = server.createConnectionInjector(credentials);
  return createNetServer((socket) => {
    // A client that goes away is no error of ours.
    socket.on('error', () => {});
    if (calls.admits(socket)) injectConnection(socket);
    else socket.destroy();
  });
}

function listen(door: NetServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    door.once('error', (error) => {
      const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
      reject(new Error(`cannot listen for gRPC on ${address}: ${error.message}`));
    });
    door.listen(port, host, () => resolve((door.address() as AddressInfo).port));
  });
}

const LOOK_MS = 50;

/** Streams that never end, such as one who watches the health, are not waited for once no call is under way. */
function shutDown(server: Server, door: NetServer, calls: Calls, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const endsAt = performance.now() + timeoutMs;
    let idleLooks = 0;
    const timer = setInterval(() => {
      idleLooks = calls.underWay === 0 ? idleLooks + 1 : 0;
      if (idleLooks < IDLE_LOOKS && performance.now() <= endsAt) return;
      server.forceShutdown();
      calls.closeConnections();
    }, LOOK_MS);
    // The server tells its clients; the door is closed when the last of them has gone.
    server.tryShutdown(() => {});
    door.close(() => {
      clearInterval(timer);
      resolve();
    });
  });
}

/** Time for the last answers, and for the news that the server is not healthy, to get out. */
const IDLE_LOOKS = 5;
