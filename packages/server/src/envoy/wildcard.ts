/** A text with stars, each of which stands for any characters or none. Compared part by part, never searched backwards. */
export interface Wildcard {
  readonly prefix: string;
  /** In this order, without overlap. */
  readonly infixes: readonly string[];
  readonly suffix: string;
}

export function parseWildcard(text: string): Wildcard {
  const parts = text.split('*');
  return { prefix: parts[0]!, infixes: parts.slice(1, -1).filter(Boolean), suffix: parts.at(-1)! };
}

export function matchesWildcard({ prefix, infixes, suffix }: Wildcard, text: string): boolean {
  if (!text.startsWith(prefix)) return false;
  let at = prefix.length;
  for (const infix of infixes) {
    const found = text.indexOf(infix, at);
    if (found < 0) return false;
    at = found + infix.length;
  }
  return text.length - suffix.length >= at && text.endsWith(suffix);
}
