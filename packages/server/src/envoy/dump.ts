/** The rules that hold, a line for each, as the reference server's /rlconfig prints them. */
import type { EnvoyDomains, Node } from './domain.ts';
import { nodesIn } from './level.ts';

export function dumpDomains(domains: EnvoyDomains): string {
  const lines = [...domains.values()].flatMap(({ name, nodes }) => nodes.flatMap((node) => linesOf(name, node)));
  return lines.map((line) => `${line}\n`).join('');
}

function linesOf(domain: string, { path, rule, children }: Node): readonly string[] {
  const below = nodesIn(children).flatMap((node) => linesOf(domain, node));
  if (rule === undefined) return below;
  const { limit, shadow, quota } = rule;
  const numbers = limit === undefined ? 'unlimited' : `unit=${limit.unit} requests_per_unit=${limit.requestsPerUnit}`;
  const own = limit === undefined || limit.counter !== undefined ? '' : `, ${limit.policy.algorithm}`;
  return [`${[domain, ...path].join('.')}: ${numbers}${own}, shadow_mode: ${shadow}, quota_mode: ${quota}`, ...below];
}
