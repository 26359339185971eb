/** The client processes, seen from the parent. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const WORKER = fileURLToPath(new URL('worker.mjs', import.meta.url));

/** `clients` are names of client packages, one for each process. */
export async function startProcesses(clients) {
  const processes = await Promise.all(clients.map(startProcess));
  const all = (question) => Promise.all(processes.map(({ ask }, index) => ask(question(index))));
  return {
    connect: (connection) => all((index) => ({ do: 'connect', client: clients[index], ...connection(clients[index]) })),
    start: (traffic) => all(() => ({ do: 'start', ...traffic })),
    async haveRecovered(since) {
      return (await all(() => ({ do: 'recovered', since }))).every(Boolean);
    },
    async finish() {
      const notes = await all(() => ({ do: 'finish' }));
      return notes.map((note, index) => ({ client: clients[index], ...note }));
    },
    stop: () => Promise.all(processes.map(({ stop }) => stop())),
  };
}

async function startProcess() {
  const child = fork(WORKER, { execArgv: [], serialization: 'advanced' });
  const waiting = new Map();
  let asked = 0;
  await new Promise((resolve, reject) => {
    child.on('message', ({ ready, id, result, error }) => {
      if (ready) return resolve();
      const { resolve: answer, reject: fail } = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) answer(result);
      else fail(new Error(`in a client process: ${error}`));
    });
    child.once('exit', (code, signal) => {
      const error = new Error(`a client process ended (${signal ?? code})`);
      reject(error);
      for (const { reject: fail } of waiting.values()) fail(error);
    });
  });
  return {
    ask(question) {
      asked += 1;
      const id = asked;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        child.send({ id, ...question });
      });
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
