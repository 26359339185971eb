/** `sluice/testing`: time that stands still, and the contract that a store of your own must keep. */
export { type ManualClock, manualClock } from '../model/clock.ts';
export type { SampleNumbers, Samples } from '../model/samples.ts';
export { caseTables } from './cases.generated.ts';
export type { CaseRow, CaseTable } from './cases.ts';
export { type ContractCase, type ContractOptions, type MakeStore, storeContract } from './store-contract.ts';
