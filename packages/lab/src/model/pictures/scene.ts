/** What a picture gets: where to draw, what to draw. A picture draws one state as what it is, and keeps nothing. */
import type { Palette } from '../../canvas/palette.ts';
import type { Outcome } from '../../trace/answers.ts';
import type { Trace } from '../../trace/trace.ts';
import type { RowState } from '../state.ts';

/** A request that can be seen: on its way to the gate, or just decided. */
export interface Flight {
  /** From -1, far away, to 0, at the gate, where it is decided, to 1, gone. */
  readonly progress: number;
  /** Undefined as long as nothing is decided. */
  readonly outcome: Outcome | undefined;
  /** Which of how many that come at the same moment. */
  readonly index: number;
  readonly of: number;
}

export interface Scene {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly palette: Palette;
  readonly state: RowState;
  readonly trace: Trace;
  readonly client: number;
  readonly flights: readonly Flight[];
  /** Whether there is room for words. */
  readonly isLarge: boolean;
  /** What the moment is called that is shown: now, or a time of the past. */
  readonly nowText: string;
  /** Nothing moves but what time moves. */
  readonly still: boolean;
}

export type Picture = (scene: Scene) => void;

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export const FONT = 'Inter, ui-sans-serif, system-ui, sans-serif';
export const SMALL_TEXT = `500 11px ${FONT}`;

export function write(
  { context }: Pick<Scene, 'context'>,
  text: string,
  x: number,
  y: number,
  color: string,
  align: CanvasTextAlign = 'left',
): void {
  context.font = SMALL_TEXT;
  context.fillStyle = color;
  context.textAlign = align;
  context.textBaseline = 'middle';
  context.fillText(text, x, y);
}
