/** A child process that answers requests one at a time, so that each contender has a heap of its own. */
import { fork } from 'node:child_process';

export function startWorker(file, { heapMb = 16_384, silent = false } = {}) {
  const execArgv = ['--expose-gc', `--max-old-space-size=${heapMb}`];
  const child = fork(file, [], { execArgv, stdio: ['ignore', silent ? 'ignore' : 'inherit', 'inherit', 'ipc'] });
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
