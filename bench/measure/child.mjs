/** A child process that answers requests one at a time, so that what is measured has a heap and a processor time of its own. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LIBRARY_VARIABLE } from '../library.mjs';

/** `file` beside this one. `against`: the build of another commit that it is to measure instead of this tree. */
export function startWorker(file, { heapMb = 16_384, silent = false, against, flags = [] } = {}) {
  const execArgv = ['--expose-gc', `--max-old-space-size=${heapMb}`, ...flags];
  const env = against === undefined ? process.env : { ...process.env, [LIBRARY_VARIABLE]: against.library };
  const stdio = ['ignore', silent ? 'ignore' : 'inherit', 'inherit', 'ipc'];
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [], { execArgv, env, stdio });
  let waiting;
  child.on('message', (message) => {
    if (message.error === undefined) waiting?.resolve(message.result);
    else waiting?.reject(new Error(`in the worker: ${message.error}`));
  });
  child.on('exit', (code, signal) => waiting?.reject(new Error(`the worker ended (${signal ?? code})`)));
  return {
    ask(request) {
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        child.send(request);
      });
    },
    stop() {
      waiting = undefined;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      return child.exitCode === null && child.signalCode === null ? gone : undefined;
    },
  };
}

/** The child's side: `handlers` by the request's `do`. */
export function answerRequests(handlers) {
  process.on('message', async (request) => {
    try {
      process.send({ result: await handlers[request.do](request) });
    } catch (error) {
      process.send({ error: error?.stack ?? String(error) });
    }
  });
}
