/** One line on stderr that says where the run is. On a terminal it is rewritten in place, elsewhere it is printed once a title. */
export function progressLine(stream = process.stderr) {
  const started = performance.now();
  let title = '';
  let lastWritten = 0;
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(0)} s`.padStart(6);
  return {
    group(text) {
      title = text;
      stream.write(stream.isTTY ? `\r\x1b[2K${seconds()}  ${text}` : `${seconds()}  ${text}\n`);
    },
    step(text) {
      if (!stream.isTTY || performance.now() - lastWritten < 50) return;
      lastWritten = performance.now();
      stream.write(`\r\x1b[2K${seconds()}  ${title}: ${text}`.slice(0, (stream.columns ?? 120) + 4));
    },
    done() {
      stream.write(stream.isTTY ? `\r\x1b[2K${seconds()}  done\n` : `${seconds()}  done\n`);
    },
  };
}
