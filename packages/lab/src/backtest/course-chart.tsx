/** What came over time, and what of it is allowed; with the numbers under the pointer. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count, moment } from './words.ts';

const HEIGHT = 100;

export function CourseChart(props: {
  readonly start: number;
  readonly step: number;
  readonly came: readonly number[];
  readonly allowed: readonly number[];
}): JSX.Element {
  const { start, step, came, allowed } = props;
  const [pointed, setPointed] = useState<number>();
  const most = Math.max(1, ...came);
  const index = pointed === undefined ? undefined : Math.min(came.length - 1, Math.floor(pointed * came.length));
  const point = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setPointed(Math.max(0, (event.clientX - box.left) / box.width));
  };
  return (
    <figure class="backtest-course">
      <svg
        viewBox={`0 0 ${Math.max(1, came.length)} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label="Requests over time: what came, and what is allowed of it"
        onPointerMove={point}
        onPointerLeave={() => setPointed(undefined)}
      >
        <path class="came" d={areaOf(came, most)} />
        <path class="allowed" d={areaOf(allowed, most)} />
        {index !== undefined && <rect class="pointed" x={index} y={0} width={1} height={HEIGHT} />}
      </svg>
      <figcaption class="numeric" data-tip>
        {index === undefined
          ? `Requests in steps of ${step} s, at most ${count(most)}: denied above, allowed below`
          : `${moment(start + index * step)} UTC: ${count(came[index] ?? 0)} came, ${count(allowed[index] ?? 0)} allowed`}
      </figcaption>
    </figure>
  );
}

function areaOf(values: readonly number[], most: number): string {
  const tops = values.map((value, index) => {
    const top = HEIGHT - (value / most) * HEIGHT;
    return `V${top.toFixed(2)}H${index + 1}`;
  });
  return `M0 ${HEIGHT}${tops.join('')}V${HEIGHT}Z`;
}
