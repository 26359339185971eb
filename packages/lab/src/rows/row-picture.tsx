/** The state of a row as a picture, small in the row and large in its card. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { currentPalette } from '../canvas/palette.ts';
import { type Surface, surfaceOn } from '../canvas/surface.ts';
import type { Lab } from '../lab/lab.ts';
import type { Row } from '../model/row.ts';
import type { RowState } from '../model/state.ts';
import { flightsOf } from '../view/flights.ts';
import { setAttribute, useDraw, useLab } from '../view/frames.ts';
import { isStill } from '../view/motion.ts';
import { clockTime, seconds } from '../words/words.ts';

/** How often a picture's description is written: nobody hears sixty a second. */
const SAYABLE = 1_000;
/** From this width on there is room for words. */
const LARGE = 300;

export function RowPicture({ row }: { readonly row: Row }): JSX.Element {
  const { lab, frames } = useLab();
  const canvas = useRef<HTMLCanvasElement>(null);
  const surface = useRef<Surface | undefined>(undefined);
  useLayoutEffect(() => {
    surface.current = surfaceOn(canvas.current!, () => frames.redraw());
    return () => surface.current?.stop();
  }, []);
  useDraw(() => {
    if (!surface.current!.isDue()) return false;
    const { context, width, height, scale } = surface.current!;
    if (width === 0) return true;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    paintPicture(lab, row, context, width, height);
    return true;
  });
  useDraw(() => setAttribute(canvas.current!, 'aria-label', describe(row, lab.state(row.id))), SAYABLE);
  return <canvas class="picture" ref={canvas} role="img" aria-label={row.title} />;
}

export function paintPicture(
  lab: Lab,
  row: Row,
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
): void {
  row.kind.picture({
    ...{ context, width, height, palette: currentPalette(), trace: lab.trace, client: lab.client },
    state: lab.state(row.id),
    flights: flightsOf(lab, row.id),
    isLarge: width >= LARGE,
    nowText: lab.viewed === undefined ? 'now' : clockTime(lab.viewed),
    still: isStill(),
  });
}

function describe({ title }: Row, { remaining, limit, retryAfter, waiting }: RowState): string {
  const line = waiting > 0 ? `, ${waiting} in line` : '';
  const retry = retryAfter !== undefined && retryAfter > 0 ? `, retry in ${seconds(retryAfter)}` : '';
  return `${title}: ${remaining} of ${limit} left${line}${retry}`;
}
