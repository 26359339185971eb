/** The layers under test, and the ways in which they are put together. */
import type { Clock } from '../../src/index.ts';
import { memoryStore } from '../../src/index.ts';
import {
  circuitBreaker,
  deadline,
  denyCache,
  fallback,
  type Layer,
  leases,
  type WakeAfter,
} from '../../src/layers/index.ts';

/** The layers themselves are an argument, so that broken ones can be put in their place. */
export const REAL_LAYERS = { circuitBreaker, deadline, denyCache, fallback, leases };
export type Layers = typeof REAL_LAYERS;

export interface StackOptions {
  readonly layers: Layers;
  readonly monotonic: Clock;
  readonly wall: Clock;
  readonly wakeAfter: WakeAfter;
  readonly ttlMs: number;
  readonly leaseNodes: number;
  readonly horizonMs: number;
  readonly timeoutMs: number;
}

type Part = (options: StackOptions) => Layer;

const lease: Part = ({ layers, monotonic, ttlMs, leaseNodes, horizonMs }) =>
  layers.leases({ ttl: ttlMs, nodes: leaseNodes, horizon: horizonMs, minRate: 50, clock: monotonic });
const deny: Part = ({ layers, monotonic }) => layers.denyCache({ clock: monotonic });
const limit: Part = ({ layers, monotonic, wakeAfter, timeoutMs }) =>
  layers.deadline({ timeout: timeoutMs, clock: monotonic, wakeAfter });
const breaker: Part = ({ layers, monotonic }) =>
  layers.circuitBreaker({ failures: 3, retryAfter: 5, clock: monotonic });
const refuse: Part = ({ layers, wall }) => layers.fallback({ to: 'deny', retryAfter: 5, clock: wall, warnings: false });
const allow: Part = ({ layers, wall }) => layers.fallback({ to: 'allow', retryAfter: 5, clock: wall, warnings: false });
const local: Part = ({ layers, wall }) =>
  layers.fallback({ to: memoryStore({ clock: wall, maxKeys: 100 }), retryAfter: 5, clock: wall, warnings: false });

/** From the inside out. What a fallback answers is not the store's: it is judged by nobody here. */
export const STACKS: Readonly<Record<string, readonly Part[]>> = {
  nothing: [],
  deadline: [limit],
  'deadline, breaker, deny fallback, deny cache': [limit, breaker, refuse, deny],
  'deny cache': [deny],
  leases: [lease],
  'deadline, leases': [limit, lease],
  'leases, deny cache': [lease, deny],
  'deny cache, leases': [deny, lease],
  'leases, deadline, breaker, deny fallback, deny cache': [lease, limit, breaker, refuse, deny],
  'deadline, breaker, leases, deny fallback, deny cache': [limit, breaker, lease, refuse, deny],
  'deadline, breaker, deny cache, leases, deny fallback': [limit, breaker, deny, lease, refuse],
  'deadline, breaker, deny fallback, deny cache, leases': [limit, breaker, refuse, deny, lease],
  'leases, deadline, breaker, local fallback, deny cache': [lease, limit, breaker, local, deny],
  'deadline, breaker, local fallback, deny cache, leases': [limit, breaker, local, deny, lease],
  'deadline, breaker, allow fallback, leases': [limit, breaker, allow, lease],
};
