/** Those files of a config that are for Envoy, all together. */
import type { FileProblem } from '../files/problem.ts';
import type { EnvoyDomains, Node } from './domain.ts';
import { nodesIn } from './level.ts';
import { mergeDomains } from './merge-domains.ts';
import { readEnvoyFile } from './read-domain.ts';
import { mergesDomains, usesCalendarMonth } from './settings.ts';

export interface EnvoyTexts {
  readonly domains: EnvoyDomains;
  readonly problems: readonly FileProblem[];
  /** What each of them holds. */
  readonly files: readonly HeldByEnvoyFile[];
}

export interface HeldByEnvoyFile {
  readonly file: string;
  readonly policies: 0;
  readonly rules: 0;
  readonly domain: string;
  readonly limits: number;
}

/** Told by what only they have at the top, so that also a text that is no YAML is told apart. */
export function isEnvoyText(text: string): boolean {
  return /^\uFEFF?(?:\{\s*)?["']?(?:domain|descriptors)["']?\s*:/m.test(text);
}

export function readEnvoyTexts(
  texts: readonly { readonly file: string; readonly text: string }[],
  environment: Readonly<Record<string, string | undefined>>,
): EnvoyTexts {
  const files = texts.map(({ file, text }) =>
    readEnvoyFile(file, text, { usesCalendarMonth: usesCalendarMonth(environment) }),
  );
  const read = files.flatMap(({ domain, locate }) => (domain === undefined ? [] : [{ domain, locate }]));
  const { domains, problems } = mergeDomains(read, { merge: mergesDomains(environment) });
  return {
    domains,
    problems: [...files.flatMap((file) => file.problems), ...problems],
    files: read.map(({ domain: { file, name, nodes } }) => ({
      ...{ file, policies: 0, rules: 0, domain: name },
      limits: limitsIn(nodes),
    })),
  };
}

function limitsIn(nodes: readonly Node[]): number {
  return nodes.reduce((sum, { rule, children }) => sum + (rule === undefined ? 0 : 1) + limitsIn(nodesIn(children)), 0);
}
