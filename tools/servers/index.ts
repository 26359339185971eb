/** Real Redis, Valkey and Postgres servers, and gateways, for tests, benchmarks and the lab. */
export { findServer, type ServerBinaries, type ServerKind } from './binaries.ts';
export { type ClusterOptions, type RunningCluster, startCluster } from './cluster.ts';
export { findGateway, type GatewayKind, type GatewayProgram } from './gateways.ts';
export { freePort, isRunning, type RunningServer, randomPort, spawnServer, stopper } from './launch.ts';
export { type LuaVersion, type RunningLua, runInLua, startLua } from './lua.ts';
export {
  describePostgres,
  findPostgres,
  type PostgresOptions,
  type RunningPostgres,
  startPostgres,
} from './postgres.ts';
export {
  type PrometheusOptions,
  promtool,
  type RunningPrometheus,
  type Series,
  startPrometheus,
} from './prometheus.ts';
export { type RunningProxy, startProxy } from './proxy.ts';
export { type RunningSentinel, type SentinelOptions, startSentinel } from './sentinel.ts';
export { type ServerOptions, startServer } from './server.ts';
export { completionsIn, findShell, type ShellKind } from './shells.ts';
