/**
 * `@sluice/server/backtest/engine`: what a backtest is made of, without files and without a platform. For pages and workers that have the bytes of a
 * log already; on Node `@sluice/server/backtest` reads files.
 */
export { FormatError, type LineFormat } from '../logs/line-format.ts';
export { type KeyPlan, parseKeyPlan, planFor } from '../logs/log-keys.ts';
export { packingOf, unreadable } from '../logs/packings.ts';
export { type FormatOptions, formatOf } from '../logs/recognize.ts';
export {
  type BadLine,
  type LineCounts,
  newTables,
  type ReaderOptions,
  RequestReader,
  type Tables,
} from '../logs/request-reader.ts';
export { RowBuffer, type RowColumns, type Rows } from '../logs/rows.ts';
export { BurstCurve } from './burst-curve.ts';
export { type Condition, type ConditionReport, parseCondition } from './fail-if.ts';
export { Replay, type ReplayOptions, type RowTaker } from './replay.ts';
export {
  type BoundsReport,
  type ClientReport,
  type HowHard,
  type Names,
  type PeakReport,
  type PolicyReport,
  type Reported,
  type RouteReport,
  type TrafficReport,
  trafficReport,
} from './report.ts';
export { type OnDenied, PolicyScenario, type Scenario, type ScenarioCounts } from './scenario.ts';
export { orderOf } from './sorter.ts';
export {
  type CurveChoice,
  type CurvePoint,
  curveChoice,
  curveFor,
  givenUp,
  SHARES,
  type Suggested,
  type Suggestion,
  suggested,
} from './suggest.ts';
export { type Bounds, boundsOf } from './whole-seconds.ts';
