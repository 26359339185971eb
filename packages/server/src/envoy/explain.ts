/** What would happen to descriptors, step by step, in words. Nothing is asked of a store. */
import { policyText } from '../config/explain.ts';
import type { EnvoyDomains, Node } from './domain.ts';
import { compositeOf } from './level.ts';
import { type Match, matchOf, nodesFor } from './match.ts';
import type { Descriptor, Entry } from './request.ts';

export function explainDescriptors(
  domains: EnvoyDomains,
  domainName: string,
  descriptors: readonly Descriptor[],
): readonly string[] {
  const domain = domains.get(domainName);
  if (domain === undefined) {
    const names = [...domains.keys()].join(', ') || 'none';
    return [`Not limited: there is no domain ${JSON.stringify(domainName)}; there are: ${names}`];
  }
  const matches = descriptors.map((descriptor) => matchOf(domain, descriptor));
  const replacedBy = (name: string): number =>
    name === '' ? -1 : matches.findIndex((match) => match?.rule.replaces.includes(name) === true);
  return descriptors.flatMap(({ entries }, index) => [
    descriptorText(entries),
    ...nodesFor(domain.level, entries).map(
      (node, depth) => `  ${entryText(entries[depth]!)}: ${foundText(node, entries[depth]!)}`,
    ),
    `  ${outcomeText(matches[index], descriptors[replacedBy(matches[index]?.rule.name ?? '')])}`,
  ]);
}

export function descriptorText(entries: readonly Entry[]): string {
  return entries.map(entryText).join(',');
}

function entryText({ key, value }: Entry): string {
  return `${key}=${value}`;
}

function foundText(node: Node | undefined, { value }: Entry): string {
  if (node === undefined) return 'nothing in the file';
  if (node.value === value) return 'by key and value';
  if (node.value === undefined && !node.key.includes('*')) return 'by the key alone';
  const shared = node.sharesThreshold ? ', which all that match share' : '';
  return `by the wildcard ${node.key.includes('*') ? compositeOf(node.key, node.value) : node.value}${shared}`;
}

function outcomeText(match: Match | undefined, replacing: Descriptor | undefined): string {
  if (match === undefined) return 'not limited: the file has no limit for exactly these entries';
  const { limit, shadow, quota } = match.rule;
  if (limit === undefined) return 'unlimited';
  if (replacing !== undefined) return `not limited: replaced by the rule of ${descriptorText(replacing.entries)}`;
  const numbers = limit.size === 0 ? 'nothing at all' : policyText(limit.policy);
  const how = [...(shadow ? ['in the shadow: it never denies'] : []), ...(quota ? ['a quota'] : [])];
  return `limited: ${[numbers, `key ${JSON.stringify(match.key)}`, ...how].join(', ')}`;
}
