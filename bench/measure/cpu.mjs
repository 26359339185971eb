/** What this process has used of the processor so far, in microseconds. */
export function processCpuMicros() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
