/**
 * A limit in memory is one for each process: in a cluster of workers, a client has it once with each of them. That is seen when it is
 * set up, and said once to whoever listens.
 */
import { type OnWarning, warnOnce } from '../http/warnings.ts';
import { Kind, type Mistake } from '../model/errors.ts';

interface Runtime {
  readonly process?: { getBuiltinModule?(name: 'node:cluster'): { readonly isWorker?: boolean } | undefined };
}

const told = new WeakSet<object>();
const byDefault = {};

export function warnOfCluster(onWarning: OnWarning | undefined): void {
  const { process } = globalThis as Runtime;
  if (process?.getBuiltinModule?.('node:cluster')?.isWorker !== true) return;
  const listener = onWarning ?? byDefault;
  if (told.has(listener)) return;
  told.add(listener);
  warnOnce(onWarning)(MEMORY_IN_CLUSTER);
}

const MEMORY_IN_CLUSTER: Mistake = {
  code: 'SLUICE_MEMORY_IN_CLUSTER',
  path: 'rateLimit.policy',
  expected:
    'a store that all workers of this cluster share, as in createLimiter({ policy, store: redisStore(client) })',
  got: new Kind('a limit in the memory of each'),
};
