/** Whether anything may move but what time moves. */
const reduced = matchMedia('(prefers-reduced-motion: reduce)');

export function isStill(): boolean {
  return reduced.matches;
}
