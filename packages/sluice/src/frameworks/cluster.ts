/**
 * A limit in memory is one for each process: in a cluster of n workers a client has n limits. That is found when the limit is set up,
 * and each listener is warned once.
 */

import { Kind, type Mistake } from '../model/errors.ts';
import { nodeModule } from '../model/runtime.ts';
import type { Store } from '../model/store.ts';
import { type OnWarning, warnOnce } from '../model/warnings.ts';

/** `path` is how the user gave the limit. */
export function warnOfCluster(limiter: object, path: string, onWarning: OnWarning | undefined): void {
  const cluster = nodeModule('node:cluster') as { readonly isWorker?: boolean } | undefined;
  if (cluster?.isWorker === true && isInMemory(limiter)) warnOnce(onWarning)(memoryInCluster(path));
}

function isInMemory(limiter: object): boolean {
  return (limiter as { readonly store?: Store }).store?.place?.isShared === false;
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
