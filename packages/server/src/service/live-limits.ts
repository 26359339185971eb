/** The config that holds now, and a limiter made for it. A new config takes its place at once; the store, and so every state, stays. */
import { createLimiter, type Limiter, type Policy, type Store } from 'sluice';
import type { Exceptions } from 'sluice/exceptions';
import { layered, shadow } from 'sluice/layers';
import type { Config } from '../config/config.ts';
import { counting, countingRequests } from './counting.ts';
import type { Metrics } from './metrics.ts';
import { reservedLabel } from './reserved-names.ts';

/** Which policies an attempt is under. */
export interface Under {
  readonly policies: readonly Policy[];
}

export interface LiveLimits {
  readonly config: Config;
  readonly limiter: Limiter<Under>;
  /** For callers who do not wait long. */
  readonly hurriedLimiter: Limiter<Under>;
  replace(config: Config): void;
}

/** Two ways to the same states. */
export interface LiveStores {
  readonly store: Store;
  readonly hurried?: Store | undefined;
}

/** `exceptions` are those of the store; those of the config are set with it. */
export function liveLimits(stores: LiveStores, metrics: Metrics, first: Config, exceptions?: Exceptions): LiveLimits {
  const except = (store: Store): Store => exceptions?.around(store) ?? store;
  const store = except(stores.store);
  const hurried = stores.hurried === undefined || stores.hurried === stores.store ? store : except(stores.hurried);
  const made = (config: Config) => {
    metrics.configured(config.policies.keys());
    const limiter = limiterFor(config, store, metrics);
    return { config, limiter, hurriedLimiter: hurried === store ? limiter : limiterFor(config, hurried, metrics) };
  };
  exceptions?.setFixed(first.exceptions ?? []);
  let current = made(first);
  return {
    get config() {
      return current.config;
    },
    get limiter() {
      return current.limiter;
    },
    get hurriedLimiter() {
      return current.hurriedLimiter;
    },
    replace(config) {
      exceptions?.setFixed(config.exceptions ?? []);
      current = made(config);
    },
  };
}

function limiterFor(config: Config, store: Store, metrics: Metrics): Limiter<Under> {
  const shadowed = [...config.policies.values()].filter((named) => named.shadow).map(({ name }) => name);
  const counted = counting(metrics, {
    labelOf: ({ name }) => (config.policies.has(name) ? name : labelOfOthers(name, config)),
    isShadowed: ({ name }) => shadowed.includes(name),
    isWholeRequest: shadowed.length === 0,
  });
  const layers =
    shadowed.length === 0 ? [counted] : [counted, shadow({ policies: shadowed }), countingRequests(metrics.live)];
  // Of one by itself no list has to be checked.
  const chosen = ({ policies }: Under) => (policies.length === 1 ? policies[0]! : policies);
  return createLimiter<Under>({ policies: chosen, store: layered(store, ...layers) });
}

/** No configured policy has a name that begins like those of the Envoy service. */
function labelOfOthers(name: string, { policies }: Config): string {
  // The box behind blockFor is called by its policy.
  const [, ofBox = ''] = /^(.*) block \w+$/.exec(name) ?? [];
  if (policies.has(ofBox)) return ofBox;
  return reservedLabel(name) ?? 'inline';
}
