/** Domains of several files together. Each file has a domain of its own, unless they are asked to be merged. */
import type { FileProblem } from '../config/problem.ts';
import type { EnvoyDomain, EnvoyDomains } from './domain.ts';
import { duplicatesIn, duplicateText, levelOf } from './level.ts';

export interface MergedDomains {
  readonly domains: EnvoyDomains;
  /** If there are any, the domains are not to be used. */
  readonly problems: readonly FileProblem[];
}

export interface MergeOptions {
  /** Files may add to each other's domains, as with the reference server's MERGE_DOMAIN_CONFIG. */
  readonly merge?: boolean | undefined;
}

export function mergeDomains(list: readonly EnvoyDomain[], { merge = false }: MergeOptions = {}): MergedDomains {
  const domains = new Map<string, EnvoyDomain>();
  const problems: FileProblem[] = [];
  for (const domain of list) {
    const known = domains.get(domain.name);
    if (known === undefined) domains.set(domain.name, domain);
    else if (!merge) problems.push(problemIn(domain, `duplicate domain '${domain.name}' in config file`));
    else domains.set(domain.name, joined(known, domain, problems));
  }
  return { domains, problems };
}

function joined(known: EnvoyDomain, added: EnvoyDomain, problems: FileProblem[]): EnvoyDomain {
  const nodes = [...known.nodes, ...added.nodes];
  for (const node of duplicatesIn(nodes)) problems.push(problemIn(added, duplicateText(added.name, node)));
  return { ...known, nodes, level: levelOf(nodes) };
}

function problemIn({ file }: EnvoyDomain, message: string): FileProblem {
  return { file, path: '', message };
}
