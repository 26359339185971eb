/** Decisions a second over time: what was allowed, and on top of it what was denied. */
import type { JSX } from 'preact';
import { type History, niceMaximum, ratesOf, shownSeconds } from './history.ts';

const HEIGHT = 100;

export function RateChart(props: {
  readonly history: History;
  /** All of them together when left out. */
  readonly policy?: string;
  readonly label: string;
  /** Without axes, to stand in a line. */
  readonly small?: boolean;
}): JSX.Element {
  const { history, policy, label, small = false } = props;
  const maximum = niceMaximum(history, policy);
  const seconds = shownSeconds(history);
  const { allowed, all } = outlines(history, policy, maximum, seconds);
  return (
    <div class={small ? 'rate-chart small' : 'rate-chart'}>
      {!small && (
        <div class="rate-axis numeric" aria-hidden="true">
          <span>{maximum}</span>
          <span>{maximum / 2}</span>
          <span>0</span>
        </div>
      )}
      <svg viewBox={`0 0 ${seconds} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {!small && <path class="rate-grid" d={`M0 0H${seconds}M0 ${HEIGHT / 2}H${seconds}M0 ${HEIGHT}H${seconds}`} />}
        <path class="rate-denied" d={area(all)} />
        <path class="rate-allowed" d={area(allowed)} />
        <path class="rate-denied-line" d={line(all)} />
        <path class="rate-allowed-line" d={line(allowed)} />
      </svg>
      {!small && (
        <div class="rate-times" aria-hidden="true">
          <span>{seconds} s ago</span>
          <span>{seconds / 2} s</span>
          <span>now</span>
        </div>
      )}
    </div>
  );
}

type Point = readonly [x: number, y: number];

function outlines(
  history: History,
  policy: string | undefined,
  maximum: number,
  seconds: number,
): { allowed: Point[]; all: Point[] } {
  const last = history.at(-1)?.at ?? 0;
  const points = history.map((sample) => {
    const { allowed, denied } = ratesOf(sample, policy);
    const x = seconds - (last - sample.at);
    const y = (rate: number): number => HEIGHT - (rate / maximum) * HEIGHT;
    return { allowed: [x, y(allowed)] as const, all: [x, y(allowed + denied)] as const };
  });
  return { allowed: points.map(({ allowed }) => allowed), all: points.map(({ all }) => all) };
}

function line(points: readonly Point[]): string {
  return points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(2)} ${y.toFixed(2)}`).join('');
}

function area(points: readonly Point[]): string {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return '';
  return `${line(points)}L${last[0].toFixed(2)} ${HEIGHT}L${first[0].toFixed(2)} ${HEIGHT}Z`;
}
