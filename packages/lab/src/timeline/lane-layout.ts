/** Where in the lanes things are, in CSS pixels from the top of the first lane. */

export interface LaneLayout {
  readonly lanes: number;
  readonly laneHeight: number;
  /** Kept free at the top of each lane, for its name where there is no room beside it. */
  readonly labelHeight: number;
  /** Device pixels to a CSS pixel. */
  readonly scale: number;
  /** Device pixels to a millisecond. */
  readonly perMs: number;
  /** How many clients have marks of their own in each lane. */
  readonly clients: number;
}

/** From one mark to the one above it. */
export const PITCH = 6;

export interface Zone {
  readonly top: number;
  readonly height: number;
}

/** The upper half: what was allowed within one window. Curves reach up to twice the limit. */
export function curveZone({ laneHeight, labelHeight }: LaneLayout, lane: number): Zone {
  const free = laneHeight - labelHeight;
  return { top: lane * laneHeight + labelHeight + free * 0.06, height: free * 0.4 };
}

/** The lower half: the requests of one client. */
export function marksZone({ laneHeight, labelHeight, clients }: LaneLayout, lane: number, client: number): Zone {
  const height = ((laneHeight - labelHeight) * 0.46) / clients;
  return { top: (lane + 1) * laneHeight - 3 - (clients - client) * height, height: height - 1 };
}

/** How many marks fit above one another. */
export function rowsIn({ height }: Zone): number {
  return Math.max(1, Math.floor((height - 1) / PITCH));
}
