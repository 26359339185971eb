/** `sluice/llm`: budgets of tokens for those who call language models, and for those who serve them. */
export { type Estimates, type EstimatesOptions, estimates } from './estimates.ts';
export { lowerTo, type ProviderRemaining, providerRemaining } from './provider.ts';
export { type SettleWhenOptions, settleWhen } from './settle-when.ts';
export { type ReadUsage, usageReader } from './usage.ts';
