/** What the service says about itself when it listens. */
import type { Config } from '../config/config.ts';
import { policyText } from '../files/policy-text.ts';

export interface Greeting {
  readonly url: string;
  /** Where Envoy asks, if it can. */
  readonly grpc: string | undefined;
  /** Where the state is kept, for people. */
  readonly store: string;
  readonly config: Config;
  readonly hasLab: boolean;
}

export function greetingText({ url, grpc, store, config, hasLab }: Greeting): string {
  const { policies, rules, envoy } = config;
  const named = [...policies.values()].map(({ name, policy, shadow }) => {
    return `  ${name}: ${policyText(policy)}${shadow ? ' (shadow)' : ''}`;
  });
  const domains = [...(envoy?.values() ?? [])].map(({ name, file }) => `  the domain ${name} of ${file}`);
  const limits =
    named.length + domains.length === 0 ? ['  inline policies only, each sent with its request (no --config)'] : named;
  return [
    `Sluice listens on ${url}, its state is ${store}. It limits:`,
    ...limits,
    ...(rules.length === 0 ? [] : [`  by ${rules.length} rules at ${url}/v1/check`]),
    ...domains,
    ...(grpc === undefined ? [] : [`Envoy asks it over gRPC at ${grpc}, or at ${url}/json.`]),
    ...(hasLab ? [`The lab: ${url}/`] : []),
  ].join('\n');
}

export function greetingJson({ url, grpc, store, config }: Greeting): string {
  const { policies, rules, envoy } = config;
  const named = [...policies.values()].map(({ policy, shadow }) => ({ ...policy, shadow }));
  const domains = [...(envoy?.keys() ?? [])];
  return JSON.stringify({ url, grpc, store, policies: named, rules: rules.map(({ name }) => name), domains });
}
