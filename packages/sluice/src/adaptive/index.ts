/** `sluice/adaptive`: a limit in flight that follows latency, for one process. */
export {
  type AdaptiveLimit,
  type AdaptiveOptions,
  type AdaptivePermit,
  adaptiveLimit,
  type Outcome,
} from './adaptive-limit.ts';
export {
  type AimdOptions,
  aimd,
  type Controller,
  type ControllerOptions,
  type ControlState,
  type Gradient2Options,
  gradient2,
  type Sample,
  type VegasOptions,
  vegas,
} from './controllers.ts';
