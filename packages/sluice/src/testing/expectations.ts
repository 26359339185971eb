/** The two expectations the contract needs, so that it runs under any test runner and without one. */

export function isTrue(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

/** Equal as data. Infinity and undefined are told apart from null, which JSON alone would not do. */
export function equal(seen: unknown, expected: unknown, what: string): void {
  const [left, right] = [written(seen), written(expected)];
  if (left !== right) throw new Error(`${what}: expected ${right}, got ${left}`);
}

function written(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'number' || part === undefined ? String(part) : part));
}
