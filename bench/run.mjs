/** Runs the chosen groups one after the other and writes the pages. The first contender that fails ends the run. */
import { writeFileSync } from 'node:fs';
import { commitOf, describeMachine, packageVersions } from './measure/machine.mjs';
import { buildOf } from './measure/other-commit.mjs';
import { progressLine } from './measure/progress.mjs';
import { keepGroup, writePages } from './report/pages.mjs';
import { besideReport, terminalReport } from './report/terminal.mjs';

export async function runBench({ quick, groups, against: commit, json, trace, writeResults, command }) {
  const progress = progressLine();
  const versions = packageVersions();
  const against = commit === undefined ? undefined : await buildOf(commit, progress);
  const done = [];
  try {
    for (const { name, title, place, run } of groups) {
      const started = performance.now();
      const { loadAverage, ...machine } = describeMachine();
      const measured = await run({ quick, progress, against, trace });
      const conditions = {
        ...{ date: new Date().toISOString().slice(0, 10), mode: quick ? 'quick' : 'full', command, commit: commitOf() },
        ...{ seconds: Math.round((performance.now() - started) / 1000), machine, loadAverage, versions },
      };
      const result = { name, title, place, conditions, ...measured };
      done.push(result);
      console.log(terminalReport(result));
      if (writeResults) keepGroup(result);
    }
  } finally {
    await against?.remove();
  }
  progress.done();
  if (against !== undefined) console.log(besideReport(done, against.commit));
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(done, null, 2)}\n`);
  if (writeResults) for (const file of writePages()) console.error(`written: ${file}`);
}
