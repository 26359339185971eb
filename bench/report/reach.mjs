/** What the authors hold a run to: printed after the tables, never written into a page. Where several rows are meant the worst of them decides. */
export function atLeast(what, bound, rows) {
  return held(what, `at least ${bound}`, rows, Math.min, (worst) => worst >= bound);
}

export function atMost(what, bound, rows) {
  return held(what, `at most ${bound}`, rows, Math.max, (worst) => worst <= bound);
}

/** `rows`: a name and a number for each. */
function held(what, want, rows, worstOf, holds) {
  const known = rows.filter(([, value]) => Number.isFinite(value));
  if (known.length === 0) return { what, want, got: 'not measured', met: false };
  const worst = worstOf(...known.map(([, value]) => value));
  const each = known.map(([name, value]) => `${name} ${value.toFixed(2)}`).join(', ');
  return { what, want, got: worst.toFixed(2), met: holds(worst), each };
}
