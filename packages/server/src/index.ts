/** `@sluice/server`: what the command is made of, for programs and tests that want it without a process of its own. */
export type { Config } from './config/config.ts';
export { type ReadConfig, type ReadConfigs, readConfig, readConfigs } from './config/read-config.ts';
export { DEFAULT_SETTINGS, type EnvoySettings } from './envoy/settings.ts';
export type { Problem } from './files/problem.ts';
export { type Lab, type LabOptions, openLab } from './lab/lab.ts';
export { findPage, type Page } from './lab/page.ts';
export type { LiveAnswer } from './service/live-view.ts';
export { type LoadedConfig, loadConfig } from './service/load-config.ts';
export { jsonLog, type Log } from './service/log.ts';
export { Metrics } from './service/metrics.ts';
export { type OpenStore, openStore, type StoreOptions } from './service/open-store.ts';
export { createService, type Service, type ServiceOptions } from './service/service.ts';
