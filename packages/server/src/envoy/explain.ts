/** What would happen to descriptors, step by step, in words. Nothing is asked of a store. */
import type { Policy } from 'sluice';
import { policyText } from '../files/policy-text.ts';
import type { EnvoyDomains, Node } from './domain.ts';
import { compositeOf } from './level.ts';
import { type Match, matchOf, nodesFor } from './match.ts';
import type { Descriptor, Entry } from './request.ts';

export interface Explained {
  readonly domain: string;
  /** Undefined when there is no such domain. */
  readonly descriptors: readonly ExplainedDescriptor[] | undefined;
  readonly text: string;
}

export interface ExplainedDescriptor {
  readonly descriptor: string;
  /** How each entry was looked up, until the file had nothing for one. */
  readonly steps: readonly { readonly entry: string; readonly found: string }[];
  readonly outcome: ExplainedOutcome;
}

export type ExplainedOutcome =
  | {
      readonly outcome: 'limited';
      readonly policy: Policy;
      /** Whose state it is. */
      readonly key: string;
      /** 0 denies everything that spends. */
      readonly requestsPerUnit: number;
      readonly shadow: boolean;
      readonly quota: boolean;
    }
  | { readonly outcome: 'unlimited' }
  | { readonly outcome: 'not-limited'; readonly because: string };

export function explainDescriptors(
  domains: EnvoyDomains,
  domainName: string,
  descriptors: readonly Descriptor[],
): Explained {
  const domain = domains.get(domainName);
  if (domain === undefined) {
    const names = [...domains.keys()].join(', ') || 'none';
    const text = `Not limited: there is no domain ${JSON.stringify(domainName)}; there are: ${names}`;
    return { domain: domainName, descriptors: undefined, text };
  }
  const matches = descriptors.map((descriptor) => matchOf(domain, descriptor));
  const replacedBy = (name: string): number =>
    name === '' ? -1 : matches.findIndex((match) => match?.rule.replaces.includes(name) === true);
  const explained = descriptors.map(({ entries }, index): ExplainedDescriptor => {
    const found = nodesFor(domain.level, entries).map((node, depth) => foundText(node, entries[depth]!));
    return {
      descriptor: descriptorText(entries),
      steps: found.map((text, depth) => ({ entry: entryText(entries[depth]!), found: text })),
      outcome: outcomeOf(matches[index], descriptors[replacedBy(matches[index]?.rule.name ?? '')]),
    };
  });
  return { domain: domainName, descriptors: explained, text: explained.flatMap(linesOf).join('\n') };
}

function linesOf({ descriptor, steps, outcome }: ExplainedDescriptor): readonly string[] {
  const found = steps.map((step) => `  ${step.entry}: ${step.found}`);
  return [descriptor, ...found, `  ${outcomeText(outcome)}`];
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

function outcomeOf(match: Match | undefined, replacing: Descriptor | undefined): ExplainedOutcome {
  if (match === undefined) {
    return { outcome: 'not-limited', because: 'the file has no limit for exactly these entries' };
  }
  const { limit, shadow, quota } = match.rule;
  if (limit === undefined) return { outcome: 'unlimited' };
  if (replacing !== undefined) {
    return { outcome: 'not-limited', because: `replaced by the rule of ${descriptorText(replacing.entries)}` };
  }
  const { policy, requestsPerUnit } = limit;
  return { outcome: 'limited', policy, key: match.key, requestsPerUnit, shadow, quota };
}

function outcomeText(outcome: ExplainedOutcome): string {
  if (outcome.outcome === 'unlimited') return 'unlimited';
  if (outcome.outcome === 'not-limited') return `not limited: ${outcome.because}`;
  const { policy, key, requestsPerUnit, shadow, quota } = outcome;
  const numbers = requestsPerUnit === 0 ? 'nothing at all' : policyText(policy);
  const how = [...(shadow ? ['shadow: it never denies'] : []), ...(quota ? ['a quota'] : [])];
  return `limited: ${[numbers, `key ${JSON.stringify(key)}`, ...how].join(', ')}`;
}
