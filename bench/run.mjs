/** Runs the chosen groups one after the other and writes the reports. The first contender that fails ends the run. */
import { writeFileSync } from 'node:fs';
import { describeMachine, packageVersions } from './measure/machine.mjs';
import { progressLine } from './measure/progress.mjs';
import { htmlReport } from './report/html.mjs';
import { reachOf } from './report/reach.mjs';
import { resultsMarkdown } from './report/results.mjs';
import { terminalReport } from './report/terminal.mjs';
import { growthScenario } from './scenarios/growth.mjs';
import { leasesScenario } from './scenarios/leases.mjs';
import { logScenario } from './scenarios/log.mjs';
import { memoryScenario } from './scenarios/memory.mjs';
import { middlewareScenario } from './scenarios/middleware.mjs';
import { openLoopScenario } from './scenarios/open-loop.mjs';
import { redisScenario } from './scenarios/redis.mjs';
import { serviceScenario } from './scenarios/service.mjs';

const SCENARIOS = {
  memory: memoryScenario,
  redis: redisScenario,
  log: logScenario,
  middleware: middlewareScenario,
  growth: growthScenario,
  'open-loop': openLoopScenario,
  leases: leasesScenario,
  service: serviceScenario,
};
const RESULTS = new URL('./RESULTS.md', import.meta.url);

export async function runBench({ quick, groups, json, html, writeResults }) {
  const progress = progressLine();
  const started = performance.now();
  const { loadAverage: loadAverageBefore, ...machine } = describeMachine();
  const scenarios = [];
  for (const group of groups) scenarios.push(await SCENARIOS[group]({ quick, progress }));
  progress.done();
  const run = {
    date: new Date().toISOString().slice(0, 10),
    mode: quick ? 'quick' : 'full',
    seconds: (performance.now() - started) / 1000,
    machine: { ...machine, loadAverageBefore, loadAverageAfter: describeMachine().loadAverage },
    versions: packageVersions(),
    serverVersion: scenarios.find(({ serverVersion }) => serverVersion !== undefined)?.serverVersion,
    reach: reachOf(scenarios),
    scenarios,
  };
  console.log(terminalReport(run));
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(run, null, 2)}\n`);
  if (html !== undefined) writeFileSync(html, htmlReport(run));
  if (writeResults) writeFileSync(RESULTS, `${resultsMarkdown(run).trimEnd()}\n`);
}
