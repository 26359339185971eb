/** Times and rates as people write them. */

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** To the last digit, for what somebody has written: `1 d`, `1 min 30 s`, `0.25 s`. */
export function exactTime(milliseconds: number): string {
  let rest = milliseconds / 1e3;
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = unit === 's' ? Math.round(rest * 1e6) / 1e6 : Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * size;
  }
  return parts.join(' ') || '0 s';
}

/** About how long, never shorter than it is: `0.05 s`, `1.5 s`, `14 min 48 s`, `2 h 5 min`. */
export function roughTime(seconds: number): string {
  if (seconds < 1) return `${up(seconds, 0.001)} s`;
  if (seconds < 10) return `${up(seconds, 0.1)} s`;
  return exactTime(up(seconds, grainOf(up(seconds, 1))) * 1e3);
}

/** Two units are enough. */
function grainOf(seconds: number): number {
  if (seconds >= 86_400) return 3600;
  return seconds >= 3600 ? 60 : 1;
}

function up(value: number, grain: number): number {
  const count = Math.ceil(value / grain - 1e-9);
  return Math.round(count * grain * 1e6) / 1e6;
}

const SPANS = [
  ['s', 1],
  ['min', 60],
  ['h', 3600],
  ['d', 86_400],
] as const;

/** Of units a second: by whichever time makes a whole number of it. */
export function rateText(perSecond: number): string {
  for (const [unit, size] of SPANS) {
    const count = perSecond * size;
    const whole = Math.round(count);
    if (whole >= 1 && Math.abs(count - whole) <= count * 1e-9) return `${whole}/${unit}`;
  }
  return `${Number(perSecond.toPrecision(6))}/s`;
}
