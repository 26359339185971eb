/**
 * The place of the story "in flight": a limit on how many requests run at the same time, not on how many come.
 *
 * It is not told yet, because the library has no such limit. What it needs of the engine: a policy with a `limit` of requests in flight and a longest time
 * one may take (`ttl`), an attempt that takes a place and says so in its result, and a call that gives that place back, in the browser on a manual clock as
 * well as on a server. With that a story is this file: rows of one policy each, arrivals with a `takes` (how long each runs), and an engine that gives
 * places back when they are over; the trace then records a place that was given back as it records an admission that has drained.
 */
import type { Plan } from './story.ts';

/** Undefined as long as there is nothing to tell it with. */
export const inFlight: Plan | undefined = undefined;
