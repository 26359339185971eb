/** Domains of several files together. Each file has a domain of its own, unless they are asked to be merged. */
import { type FileProblem, type Locate, type Path, pathText } from '../files/problem.ts';
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

/** The domain of a file, and where things stand in it. */
export interface LocatedDomain {
  readonly domain: EnvoyDomain;
  readonly locate: Locate;
}

export function mergeDomains(list: readonly LocatedDomain[], { merge = false }: MergeOptions = {}): MergedDomains {
  const domains = new Map<string, EnvoyDomain>();
  const problems: FileProblem[] = [];
  for (const located of list) {
    const { domain } = located;
    const known = domains.get(domain.name);
    if (known === undefined) domains.set(domain.name, domain);
    else if (merge) domains.set(domain.name, joined(known, located, problems));
    else problems.push(problemIn(located, ['domain'], `duplicate domain '${domain.name}' in config file`));
  }
  return { domains, problems };
}

function joined(known: EnvoyDomain, located: LocatedDomain, problems: FileProblem[]): EnvoyDomain {
  const { name, nodes: added } = located.domain;
  const nodes = [...known.nodes, ...added];
  for (const node of duplicatesIn(nodes)) {
    problems.push(problemIn(located, ['descriptors', added.indexOf(node)], duplicateText(name, node)));
  }
  return { ...known, nodes, level: levelOf(nodes) };
}

function problemIn({ domain: { file }, locate }: LocatedDomain, path: Path, message: string): FileProblem {
  return { file, path: pathText(path), message, ...locate(path), form: 'envoy' };
}
