import { readdirSync, readFileSync } from 'node:fs';

/** What this process has used of the processor so far, in microseconds. */
export function processCpuMicros() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** What a server and the processes it has started have used so far, in microseconds, to a hundredth of a second. NaN without a server. */
export function serverCpuMicros(pid) {
  if (pid === undefined) return Number.NaN;
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(name);
    if (Number(name) === pid || Number(fields[1]) === pid) ticks += Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  }
  return ticks * 10_000;
}

/** The fields after the name, which may hold blanks. A process may end while it is looked at. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
