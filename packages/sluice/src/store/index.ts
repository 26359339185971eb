/** `sluice/store`: for those who write a store, a layer or a tool of their own. */
export type { Decision, HistoryEntry, RateLimitResult } from '../model/decision.ts';
export { asking, isPromise, type MaybePromise, proceed } from '../model/maybe-promise.ts';
export { type Policy, ruleOf } from '../model/policy.ts';
export { decidedAt, decisionOf, resultOf, type Verdict, verdictOf } from '../model/result.ts';
export type { Rule } from '../model/rule.ts';
export { spentBy } from '../model/spent.ts';
export { type Numbers, type Spent, Step } from '../model/step.ts';
export {
  type Answer,
  type Ask,
  type Attempt,
  around,
  attemptOf,
  type Change,
  type Changes,
  type Check,
  checksOf,
  type Forget,
  type History,
  isStoreFault,
  type Place,
  type Question,
  type Store,
} from '../model/store.ts';
export { answer, type States } from './states.ts';
export { type Stored, type StoreOverOptions, type SwapPort, storeOver } from './store-over.ts';
