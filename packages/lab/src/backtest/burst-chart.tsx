/** The burst curve: the capacity that a bucket needs at each rate. Clicking a point chooses it. */
import type { CurvePoint, Suggested } from '@sluice/server/backtest/engine';
import type { JSX } from 'preact';
import { count } from './words.ts';

const WIDTH = 640;
const HEIGHT = 240;
const LEFT = 56;
const BOTTOM = 30;

export function BurstChart(props: {
  readonly curve: Suggested;
  readonly onChoose: (rate: string, capacity: number) => void;
}): JSX.Element {
  const { buckets, knee, keep } = props.curve;
  const most = Math.max(2, ...buckets.map(({ everyone }) => everyone));
  const x = (index: number): number => LEFT + (index / Math.max(1, buckets.length - 1)) * (WIDTH - LEFT - 12);
  const y = (value: number): number => 10 + (1 - Math.log(value) / Math.log(most)) * (HEIGHT - BOTTOM - 10);
  const line = (read: (point: CurvePoint) => number): string =>
    buckets
      .map((point, index) => `${index === 0 ? 'M' : 'L'}${x(index).toFixed(1)} ${y(read(point)).toFixed(1)}`)
      .join('');
  return (
    <figure class="backtest-curve">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-label="Burst curve">
        {[1, most].map((value) => (
          <text key={value} x={LEFT - 6} y={y(value) + 4} text-anchor="end">
            {count(value)}
          </text>
        ))}
        {buckets.map(({ text }, index) =>
          index % 3 === 0 ? (
            <text key={text} x={x(index)} y={HEIGHT - 8} text-anchor="middle">
              {text}
            </text>
          ) : null,
        )}
        <path class="half" d={line(({ shares }) => shares[0]!)} />
        <path class="most" d={line(({ shares }) => shares[2]!)} />
        <path class="kept" d={line((point) => point.keep)} />
        {buckets.map((point, index) => (
          <Point
            key={point.text}
            point={point}
            isKnee={index === knee}
            x={x(index)}
            y={y(point.keep)}
            onChoose={props.onChoose}
          />
        ))}
      </svg>
      <figcaption>
        The capacity (upwards) that a bucket needs at each rate (to the right) so that{' '}
        {Number((keep * 100).toPrecision(5))} % of clients are never denied; below it the lines for 99 % and for half of
        them. The ring is where the curve bends. Choose a point to try it.
      </figcaption>
    </figure>
  );
}

function Point(props: {
  readonly point: CurvePoint;
  readonly isKnee: boolean;
  readonly x: number;
  readonly y: number;
  readonly onChoose: (rate: string, capacity: number) => void;
}): JSX.Element {
  const { point, isKnee, x, y, onChoose } = props;
  const choose = (): void => onChoose(point.text, point.keep);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a button cannot stand in an SVG.
    <circle
      class={isKnee ? 'knee' : ''}
      cx={x}
      cy={y}
      r={isKnee ? 7 : 5}
      role="button"
      tabIndex={0}
      aria-label={`${point.text}: capacity ${point.keep}`}
      onClick={choose}
      onKeyDown={(event) => (event.key === 'Enter' || event.key === ' ') && choose()}
    >
      <title>{`${point.text}: capacity ${count(point.keep)}`}</title>
    </circle>
  );
}
