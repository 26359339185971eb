/** `kuadrant.service.ratelimit.v1.RateLimitService`: Limitador's calls over gRPC. Field numbers are those of proto/kuadrant/service/ratelimit/v1. */
import { FRAME_ROOM, framed } from '../../grpc/messages-in.ts';
import { Reader, Writer } from '../../grpc/protobuf.ts';
import type { Caller, Method } from '../../grpc/server.ts';
import { GrpcError, STATUS } from '../../grpc/status.ts';
import { type Descriptor, type RateLimitRequest, ServiceError } from '../request.ts';
import { type CommitRequest, check, commit, type ReserveRequest, report, reserve } from '../reservations.ts';
import type { EnvoyContext } from '../should-rate-limit.ts';
import { readDescriptor, readRequest, writeResponse } from './messages.ts';
import type { BesideService } from './server.ts';

export const KUADRANT_SERVICE = 'kuadrant.service.ratelimit.v1.RateLimitService';

const CALLS = ['CheckRateLimit', 'Report', 'Reserve', 'Commit'] as const;
export type KuadrantCall = (typeof CALLS)[number];

export interface KuadrantOptions {
  context(caller: Caller): EnvoyContext;
  /** Throws when the caller may not ask that. */
  guard(authorization: string | undefined, request: RateLimitRequest): void;
  /** Called with what is no mistake of the client. */
  onError(error: unknown): void;
  onCall(call: KuadrantCall, result: 'ok' | 'over_limit' | 'error'): void;
}

/** The answer as bytes, and whether it is a denial. */
interface Answered {
  readonly bytes: Buffer;
  readonly isOver: boolean;
}

type Answer = (message: Buffer, ask: Ask) => Promise<Answered>;

interface Ask {
  /** Who may ask it is looked at before anything is done. */
  permit<Request extends RateLimitRequest>(request: Request): Request;
  readonly context: EnvoyContext;
}

const ANSWERS: Readonly<Record<KuadrantCall, Answer>> = {
  async CheckRateLimit(message, { permit, context }) {
    const response = await check(permit(readRequest(message)), context);
    return { bytes: writeResponse(response), isOver: response.overallCode !== 'OK' };
  },
  async Report(message, { permit, context }) {
    return { bytes: writeResponse(await report(permit(readRequest(message)), context)), isOver: false };
  },
  async Reserve(message, { permit, context }) {
    const id = await reserve(permit(readReserve(message)), context);
    return { bytes: writeReserved(id), isOver: id === undefined };
  },
  async Commit(message, { permit, context }) {
    return { bytes: writeCommitted(await commit(permit(readCommit(message)), context)), isOver: false };
  },
};

export function kuadrantService(options: KuadrantOptions): BesideService {
  const methods = CALLS.map((call) => [`/${KUADRANT_SERVICE}/${call}`, methodOf(call, options)] as const);
  return { name: KUADRANT_SERVICE, methods };
}

function methodOf(call: KuadrantCall, { context, guard, onCall, onError }: KuadrantOptions): Method {
  return {
    unary: {
      async answer(message, caller) {
        const permit = <Request extends RateLimitRequest>(request: Request): Request => {
          try {
            guard(caller.authorization, request);
          } catch (error) {
            throw new GrpcError(STATUS.UNAUTHENTICATED, (error as Error).message);
          }
          return request;
        };
        try {
          const { bytes, isOver } = await ANSWERS[call](message, { permit, context: context(caller) });
          onCall(call, isOver ? 'over_limit' : 'ok');
          return bytes;
        } catch (error) {
          onCall(call, 'error');
          throw asStatus(error, onError);
        }
      },
    },
  };
}

function asStatus(error: unknown, onError: (error: unknown) => void): unknown {
  if (error instanceof ServiceError) return new GrpcError(STATUS.INVALID_ARGUMENT, error.message);
  if (!(error instanceof GrpcError)) onError(error);
  return error;
}

const MOST_TTL_SECONDS = 3600;
const DEFAULT_TTL_MS = 60_000;

function readReserve(message: Buffer): ReserveRequest {
  const reader = new Reader(message);
  const descriptors: Descriptor[] = [];
  let [domain, amount, ttlMs] = ['', 0, DEFAULT_TTL_MS];
  while (reader.next()) {
    if (reader.field === 1) domain = reader.text();
    else if (reader.field === 2) descriptors.push(readDescriptor(reader.message()));
    else if (reader.field === 3) amount = reader.uint64();
    else if (reader.field === 4) ttlMs = readTtl(reader.message());
    else reader.skip();
  }
  return { domain, descriptors, hitsAddend: 0, amount, ttlMs };
}

function readTtl(reader: Reader): number {
  let [seconds, nanos] = [0, 0];
  while (reader.next()) {
    if (reader.field === 1) seconds = reader.uint64();
    else if (reader.field === 2) nanos = reader.uint64();
    else reader.skip();
  }
  const ms = seconds * 1e3 + Math.floor(nanos / 1e6);
  if (ms >= 1 && ms <= MOST_TTL_SECONDS * 1e3) return ms;
  throw new GrpcError(STATUS.INVALID_ARGUMENT, `ttl must be from 1 ms to ${MOST_TTL_SECONDS} s`);
}

function readCommit(message: Buffer): CommitRequest {
  const reader = new Reader(message);
  const descriptors: Descriptor[] = [];
  let [domain, reservationId, actualAmount] = ['', '', 0];
  while (reader.next()) {
    if (reader.field === 1) domain = reader.text();
    else if (reader.field === 2) descriptors.push(readDescriptor(reader.message()));
    else if (reader.field === 3) reservationId = reader.text();
    else if (reader.field === 4) actualAmount = reader.uint64();
    else reader.skip();
  }
  return { domain, descriptors, hitsAddend: 0, reservationId, actualAmount };
}

const CODE = { ok: 1, overLimit: 2 } as const;
const writer = new Writer(FRAME_ROOM);

function writeReserved(id: string | undefined): Buffer {
  writer.uint(1, id === undefined ? CODE.overLimit : CODE.ok);
  writer.text(2, id ?? '');
  return framed(writer.finish());
}

function writeCommitted(isReleased: boolean): Buffer {
  writer.bool(1, isReleased);
  return framed(writer.finish());
}
