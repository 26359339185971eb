/** Requests a second over time: what was allowed, and on top of it what was denied; with the values under the pointer. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../words/words.ts';
import type { Point } from './history.ts';
import { timeOfDay } from './numbers.ts';

const HEIGHT = 100;

export interface RateChartProps {
  readonly points: readonly Point[];
  readonly maximum: number;
  /** How many it shows. */
  readonly seconds: number;
  readonly label: string;
  /** What the upper part is called. */
  readonly upper?: string;
  /** Without axes, to stand in a line. */
  readonly isSmall?: boolean;
}

export function RateChart(props: RateChartProps): JSX.Element {
  const { points, maximum, seconds, upper = 'denied', isSmall = false } = props;
  const [pointed, setPointed] = useState<number>();
  const last = points.at(-1)?.at ?? 0;
  const xOf = ({ at }: Point): number => seconds - (last - at);
  const shown = pointed === undefined ? undefined : nearest(points, xOf, pointed * seconds);
  return (
    <div class={isSmall ? 'rate-chart small' : 'rate-chart'}>
      {!isSmall && (
        <div class="rate-axis numeric" aria-hidden="true">
          <span>{count(maximum)}</span>
          <span>{count(maximum / 2)}</span>
          <span>0</span>
        </div>
      )}
      <div class="rate-area">
        <Areas {...props} xOf={xOf} shown={shown} onPoint={setPointed} />
        {shown !== undefined && (
          <p class="rate-tip numeric" style={{ left: tipLeft(xOf(shown) / seconds) }} data-tip>
            {timeOfDay(shown.at)}: <b>{count(shown.allowed)}</b> allowed, <b>{count(shown.denied)}</b> {upper}
          </p>
        )}
      </div>
      {!isSmall && (
        <div class="rate-times" aria-hidden="true">
          <span>{seconds} s ago</span>
          <span>{seconds / 2} s ago</span>
          <span>now</span>
        </div>
      )}
    </div>
  );
}

/** Beside the pointer, and never outside of the chart. */
function tipLeft(share: number): string {
  return `clamp(5.5rem, ${share * 100}%, calc(100% - 5.5rem))`;
}

interface AreasProps extends RateChartProps {
  xOf(point: Point): number;
  readonly shown: Point | undefined;
  readonly onPoint: (share: number | undefined) => void;
}

function Areas({ points, maximum, seconds, label, isSmall = false, xOf, shown, onPoint }: AreasProps): JSX.Element {
  const yOf = (rate: number): number => HEIGHT - (rate / maximum) * HEIGHT;
  const allowed = points.map((point) => [xOf(point), yOf(point.allowed)] as const);
  const all = points.map((point) => [xOf(point), yOf(point.allowed + point.denied)] as const);
  return (
    <svg
      viewBox={`0 0 ${seconds} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      onPointerMove={(event) => onPoint(shareAt(event))}
      onPointerLeave={() => onPoint(undefined)}
    >
      {!isSmall && <path class="rate-grid" d={`M0 0H${seconds}M0 ${HEIGHT / 2}H${seconds}M0 ${HEIGHT}H${seconds}`} />}
      <path class="rate-denied" d={area(all)} />
      <path class="rate-allowed" d={area(allowed)} />
      <path class="rate-denied-line" d={line(all)} />
      <path class="rate-allowed-line" d={line(allowed)} />
      {shown !== undefined && <path class="rate-pointer" d={`M${xOf(shown)} 0V${HEIGHT}`} />}
    </svg>
  );
}

function shareAt(event: PointerEvent): number {
  const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
  return (event.clientX - left) / width;
}

function nearest(points: readonly Point[], xOf: (point: Point) => number, x: number): Point | undefined {
  let best: Point | undefined;
  for (const point of points)
    if (best === undefined || Math.abs(xOf(point) - x) < Math.abs(xOf(best) - x)) best = point;
  return best;
}

type Place = readonly [x: number, y: number];

function line(points: readonly Place[]): string {
  return points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(2)} ${y.toFixed(2)}`).join('');
}

function area(points: readonly Place[]): string {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return '';
  return `${line(points)}L${last[0].toFixed(2)} ${HEIGHT}L${first[0].toFixed(2)} ${HEIGHT}Z`;
}
