/**
 * A limit in memory is one for each process: in a cluster of workers, a client has it once with each of them. That is seen when it is
 * set up, and said once to whoever listens.
 */
import { type OnWarning, warnOnce } from '../http/warnings.ts';
import { Kind, type Mistake } from '../model/errors.ts';
import { storeOf } from '../model/limiter-store.ts';

interface Runtime {
  readonly process?: { getBuiltinModule?(name: 'node:cluster'): { readonly isWorker?: boolean } | undefined };
}

/** `path` is how the user gave the limit. */
export function warnOfCluster(limiter: object, path: string, onWarning: OnWarning | undefined): void {
  const { process } = globalThis as Runtime;
  if (process?.getBuiltinModule?.('node:cluster')?.isWorker !== true || !isInMemory(limiter)) return;
  warnOnce(onWarning)(memoryInCluster(path));
}

/** Only a store in memory can answer at once. */
function isInMemory(limiter: object): boolean {
  return storeOf(limiter)?.decide.one !== undefined;
}

function memoryInCluster(path: string): Mistake {
  return {
    code: 'SLUICE_MEMORY_IN_CLUSTER',
    path,
    expected:
      'a store that all workers of this cluster share, as in createLimiter({ policy, store: redisStore(client) })',
    got: new Kind('a limit in the memory of each'),
  };
}
