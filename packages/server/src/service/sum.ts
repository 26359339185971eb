/** Adds up what several processes have counted: numbers, and lists, maps and records of them, of whatever depth. */

/** What has no number on one side is as it is on the other. */
export function sum<T>(one: T, other: T): T {
  if (typeof one === 'number') return ((one as number) + (other as number)) as T;
  if (Array.isArray(one)) return one.map((item, index) => sum(item, (other as T & unknown[])[index])) as T;
  if (one instanceof Map) return sumOfMaps(one, other as T & Map<unknown, unknown>) as T;
  const both = sumOfMaps(new Map(Object.entries(one as object)), new Map(Object.entries(other as object)));
  return Object.fromEntries(both as Map<string, unknown>) as T;
}

function sumOfMaps(one: ReadonlyMap<unknown, unknown>, other: ReadonlyMap<unknown, unknown>): Map<unknown, unknown> {
  const sums = new Map(one);
  for (const [key, value] of other) sums.set(key, sums.has(key) ? sum(sums.get(key), value) : value);
  return sums;
}
