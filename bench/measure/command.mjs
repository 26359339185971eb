/** A command as a person runs it: how long it takes, and how much memory it ever held. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const LOOK_MS = 20;

/** Resolves to `{ seconds, cpuSeconds, megabytes, output }`; rejects when the command fails. */
export function runCommand(file, args, env = {}) {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    const errors = [];
    let megabytes = 0;
    let cpuSeconds = 0;
    const look = setInterval(() => {
      megabytes = Math.max(megabytes, peakOf(child.pid));
      cpuSeconds = Math.max(cpuSeconds, cpuOf(child.pid));
    }, LOOK_MS);
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => errors.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      clearInterval(look);
      const seconds = (performance.now() - begun) / 1e3;
      if (code !== 0)
        reject(new Error(`${file} ended with ${code}: ${Buffer.concat(errors).toString().slice(0, 500)}`));
      else resolve({ seconds, cpuSeconds, megabytes, output: Buffer.concat(output).toString() });
    });
  });
}

/** Of all its threads, in ticks of a hundredth of a second, as Linux counts them. */
function cpuOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** The most that the process held so far, in MB. */
function peakOf(pid) {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes ?? 0) / 1024;
  } catch {
    return 0;
  }
}
