/** `sluice/redis`: a store over any client, by one function. The clients' own subpaths are shorter where they exist. */
export type { BatchOptions } from './batch.ts';
export {
  type InspectedState,
  inspectState,
  parseStateName,
  type StateName,
  stateName,
  statePattern,
} from './inspect.ts';
export { type RedisStoreOptions, redisStoreOver } from './redis-store.ts';
export { type RunScript, type Script, type SendCommand, scriptRunner } from './run-script.ts';
export { checkServer } from './server-check.ts';
