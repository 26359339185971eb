/** Machine, versions and conditions as lines, for reports that are read elsewhere and later. */
export function conditionLines({ machine, versions, date, mode, seconds, serverVersion }) {
  const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Date: ${date}; ${mode} run of ${Math.round(seconds)} s`,
    `Machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}; load average ${machine.loadAverageBefore.join(' ')} before and ${machine.loadAverageAfter.join(' ')} after`,
    `Node ${machine.node} (V8 ${machine.v8})${serverVersion === undefined ? '' : `, Redis ${serverVersion} on the same machine, over TCP to 127.0.0.1, nothing saved to disk`}`,
    `Packages: ${packages.join(', ')}`,
    'Conditions: default options of every client and contender, a connection each, the same keys (user:100000 and so on), the same limit for all, and a window of a day unless a table says otherwise; contenders take turns within each round; numbers are medians over the rounds, ratios are medians of the ratios within each round',
  ];
}
