/** Numbers and times of a log, as people read them. */

export function share(value: number): string {
  if (value === 0 || value === 1) return `${value * 100} %`;
  const percent = value * 100;
  return percent < 0.01 ? '<0.01 %' : `${Number(percent.toPrecision(3))} %`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** UTC. */
export function moment(seconds: number): string {
  return new Date(seconds * 1e3).toISOString().slice(0, 19).replace('T', ' ');
}

const UNITS = [
  ['d', 864e5],
  ['h', 36e5],
  ['min', 6e4],
  ['s', 1e3],
] as const;

/** Of whole units. */
export function exactDuration(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => milliseconds >= each && milliseconds % each === 0) ?? ['ms', 1];
  return `${milliseconds / size} ${unit}`;
}
