/** `@sluice/server/backtest`: policies against access logs, as functions: for notebooks, tests and pipelines. */
export { type Condition, type ConditionReport, parseCondition } from '../backtest/fail-if.ts';
export type {
  BoundsReport,
  ClientReport,
  HowHard,
  PeakReport,
  PolicyReport,
  RouteReport,
  TrafficReport,
} from '../backtest/report.ts';
export type { CurvePoint, Suggested, Suggestion } from '../backtest/suggest.ts';
export { FormatError } from '../logs/line-format.ts';
export type { FormatOptions } from '../logs/recognize.ts';
export { type BacktestOptions, type BacktestReport, backtest, type DeniedLine, type LogOptions } from './backtest.ts';
export { ConfigScenario } from './config-scenario.ts';
export type { Progress, ReadOptions, ReadResult } from './read-logs.ts';
export { type Recorder, type RecorderOptions, recorder } from './recorder.ts';
export { reportHtml } from './report-html.ts';
export { type SecondHalf, type SuggestOptions, type SuggestReport, suggest, type Tried } from './suggest.ts';
