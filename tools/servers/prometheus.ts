/** A real Prometheus for tests, and the tool that checks its rules. */

import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort, HOST, isRunning, spawnServer, stopper } from './launch.ts';
import { type FoundProgram, findProgram } from './programs.ts';
import { runProgram } from './run-program.ts';
import { waitUntil } from './wait-until.ts';

export function findPrometheus(): Promise<FoundProgram> {
  return findProgram({ name: 'prometheus', packageName: 'prometheus', trial: ['--version'] });
}

/** What `promtool` says. Rejects when it finds something. */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { file, env } = await findPrometheus();
  return runProgram(join(dirname(file), 'promtool'), args, env);
}

export interface PrometheusOptions {
  /** `HOST:PORT` of what is scraped, several times a second. */
  readonly targets: readonly string[];
  readonly rules?: readonly string[] | undefined;
}

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface RunningPrometheus {
  readonly url: string;
  /** An expression at this moment. Rejects with what Prometheus says is wrong. */
  query(expression: string): Promise<readonly Series[]>;
  // biome-ignore lint/suspicious/noExplicitAny: what it is, the API of Prometheus says.
  get(path: string): Promise<any>;
  stop(): Promise<void>;
}

export async function startPrometheus({ targets, rules = [] }: PrometheusOptions): Promise<RunningPrometheus> {
  const { file, env } = await findPrometheus();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-prometheus-'));
  const config = {
    global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '500ms' },
    rule_files: rules,
    scrape_configs: [{ job_name: 'sluice', static_configs: [{ targets }] }],
  };
  // JSON is YAML.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const port = await freePort();
  const args = [
    '--config.file=prometheus.yml',
    `--web.listen-address=${HOST}:${port}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    '--log.level=error',
  ];
  const child = spawnServer({ server: file, env }, args, folder, join(folder, 'log'));
  const url = `http://${HOST}:${port}`;
  const isReady = (): Promise<boolean> =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitUntil('Prometheus is ready', async () => !isRunning(child) || (await isReady()));
  if (!isRunning(child)) throw new Error('Prometheus ended');
  const get: RunningPrometheus['get'] = async (path) => {
    const answer = await (await fetch(`${url}/api/v1/${path}`)).json();
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  return {
    ...{ url, get, stop: stopper(child, folder) },
    async query(expression) {
      const { result } = await get(`query?${new URLSearchParams({ query: expression })}`);
      return result.map(({ metric, value }: { metric: Series['metric']; value: [number, string] }) => ({
        metric,
        value: Number(value[1]),
      }));
    },
  };
}
