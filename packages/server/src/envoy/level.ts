/** Descriptors of one depth, sorted for looking up. */
import type { Level, Node, WildcardNode } from './domain.ts';
import { parseWildcard } from './wildcard.ts';

export function levelOf(nodes: readonly Node[]): Level {
  const exact = new Map<string, Map<string, Node>>();
  const byKey = new Map<string, Node>();
  for (const node of nodes) {
    if (node.value === undefined) byKey.set(node.key, node);
    else exact.set(node.key, (exact.get(node.key) ?? new Map<string, Node>()).set(node.value, node));
  }
  return { exact, byKey, wildcards: nodes.flatMap(wildcardOf) };
}

export function nodesIn({ exact, byKey }: Level): readonly Node[] {
  return [...[...exact.values()].flatMap((byValue) => [...byValue.values()]), ...byKey.values()];
}

function wildcardOf(node: Node): WildcardNode[] {
  if (node.key.includes('*')) return [{ wildcard: parseWildcard(node.path.at(-1)!), of: 'composite', node }];
  return node.value?.includes('*') === true ? [{ wildcard: parseWildcard(node.value), of: 'value', node }] : [];
}

export function compositeOf(key: string, value: string | undefined): string {
  return value === undefined ? key : `${key}_${value}`;
}

/** The nodes of which there was one with the same key and value before. */
export function duplicatesIn(nodes: readonly Node[]): readonly Node[] {
  const seen = new Set<string>();
  return nodes.filter(({ key, value }) => {
    const identity = JSON.stringify([key, value ?? null]);
    const isDuplicate = seen.has(identity);
    seen.add(identity);
    return isDuplicate;
  });
}

export function duplicateText(domain: string, { path }: Node): string {
  return `duplicate descriptor composite key '${[domain, ...path].join('.')}'`;
}
