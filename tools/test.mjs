/**
 * What `npm test` runs: dependencies, build, checks, tests. Arguments go to vitest. A step that fails does not keep the
 * next one from running, so that one run shows everything. The last line is always `N passed, N failed`, for those
 * that read nothing else, and it never says "0 failed" when the exit code says otherwise.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installDependencies } from './install-dependencies.mjs';
import { runQuietly, runVisibly, seconds } from './steps.mjs';

async function testEverything(vitestArguments) {
  if (!(await installDependencies())) return { passed: 0, failed: 1 };
  const steps = [
    // First, because the examples are checked against the built package, as a user's code would be.
    await runQuietly('Building', 'npm', ['run', 'build']),
    await runQuietly('Checking style and types', 'npm', ['run', 'check']),
  ];
  const tests = await runTests(vitestArguments);
  return { passed: tests.passed, failed: tests.failed + steps.filter((succeeded) => !succeeded).length };
}

/** A test that needs a server asks for it itself. Before the whole suite all of them are looked for, so that what is missing is told first. */
async function runTests(vitestArguments) {
  const start = performance.now();
  if (vitestArguments.length === 0) process.env.TESTS_WHOLE_SUITE = '1';
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
  const reportFile = join(folder, 'report.json');
  console.log('Testing ...');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const vitest = join('node_modules', 'vitest', 'vitest.mjs');
  const code = await runVisibly(process.execPath, [vitest, 'run', ...reporters, ...vitestArguments]);
  const counts = countTests(reportFile, code);
  rmSync(folder, { recursive: true });
  console.log(`Testing ... ${seconds(start)}`);
  return counts;
}

function countTests(reportFile, exitCode) {
  const report = readReport(reportFile);
  if (report === undefined) {
    console.log(`vitest ended with exit code ${exitCode} before it wrote its report`);
    return { passed: 0, failed: 1 };
  }
  const failed = report.numFailedTests + report.testResults.filter(hasFailedOutsideItsTests).length;
  // An error that belongs to no test shows in the exit code only.
  return { passed: report.numPassedTests, failed: exitCode === 0 ? failed : Math.max(failed, 1) };
}

/** For example a file that cannot be imported: none of its tests failed, because none ran. */
function hasFailedOutsideItsTests({ status, assertionResults }) {
  return status === 'failed' && !assertionResults.some((result) => result.status === 'failed');
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

const { passed, failed } = await testEverything(process.argv.slice(2));
process.exitCode = failed === 0 ? 0 : 1;
console.log(`${passed} passed, ${failed} failed`);
