/** Real processes that spend from the same keys at the same time, each with a client of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { RunningServer } from '../../../../../tools/servers/index.ts';
import type { Policy } from '../../../src/index.ts';
import type { Verdict } from '../../../src/model/result.ts';
import { decideLua } from '../../../src/redis/scripts.generated.ts';

const CLIENTS = ['ioredis', 'node-redis', 'valkey-glide'] as const;

export interface Task {
  readonly key: string;
  readonly prefix: string;
  readonly policies: readonly Policy[];
  /** The costs of one process, in order; every process spends the same. */
  readonly costs: readonly number[];
  readonly inFlight: number;
  /** Start over with the costs until so much time has passed on the server's clock; without it, each cost is spent once. */
  readonly lastsMicros?: number;
}

/** One attempt as its process saw it. Those of one process are in the order in which it was answered. */
export interface Answer {
  /** Which process, counted from 0. */
  readonly process: number;
  readonly now: number;
  readonly cost: number;
  readonly verdicts: readonly Verdict[];
}

export interface Processes {
  /** Connects every process, by the client packages in turn. */
  connect(shape: 'single' | 'cluster', nodes: readonly RunningServer[]): Promise<(task: Task) => Promise<Answer[]>>;
  stop(): Promise<void>;
}

export async function startProcesses(count: number): Promise<Processes> {
  checkBuild();
  const workers = await Promise.all(Array.from({ length: count }, startWorker));
  let connections = 0;
  return {
    async connect(shape, nodes) {
      connections += 1;
      const name = `connection ${connections}`;
      const addresses = nodes.map(({ host, port }) => ({ host, port }));
      await askAll(workers, (index) => ({
        connect: { name, client: CLIENTS[index % CLIENTS.length], shape, nodes: addresses },
      }));
      return async (task) => {
        const replies = await askAll(workers, () => ({ hammer: { ...task, connection: name } }));
        return replies.flatMap(({ answers }, process) =>
          (answers as Omit<Answer, 'process'>[]).map((answer) => ({ process, ...answer })),
        );
      };
    },
    async stop() {
      await Promise.all(
        workers.map(async ({ process }) => {
          const gone = once(process, 'exit');
          process.kill('SIGKILL');
          await gone;
        }),
      );
    },
  };
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The processes run the built package. One that was built from other Lua would prove nothing about this one. */
function checkBuild(): void {
  const built = here('../../../dist/redis/scripts.generated.js');
  if (existsSync(built) && readFileSync(built, 'utf8').includes(JSON.stringify(decideLua))) return;
  throw new Error('packages/sluice/dist is missing or older than the sources: run `npm run build` first');
}

type Reply = Readonly<Record<string, unknown>>;

interface Worker {
  readonly process: ChildProcess;
  ask(question: object): Promise<Reply>;
}

async function startWorker(): Promise<Worker> {
  const process = fork(here('worker.mjs'), { execArgv: [], serialization: 'advanced' });
  const waiting = new Map<number, (reply: Reply) => void>();
  const isReady = new Promise<void>((resolve, reject) => {
    process.once('exit', (code) => {
      const error = `a worker ended with code ${code}`;
      reject(new Error(error));
      for (const answer of waiting.values()) answer({ error });
    });
    process.on('message', (reply: Reply) => {
      if (reply.ready === true) resolve();
      waiting.get(reply.id as number)?.(reply);
    });
  });
  await isReady;
  let questions = 0;
  return {
    process,
    async ask(question) {
      questions += 1;
      const id = questions;
      const reply = await new Promise<Reply>((resolve) => {
        waiting.set(id, resolve);
        process.send({ id, ...question });
      });
      waiting.delete(id);
      return reply;
    },
  };
}

/** The same or its own question to each, all at once. Waits for every answer also when one is an error, so that none is still at work. */
async function askAll(workers: readonly Worker[], question: (index: number) => object): Promise<Reply[]> {
  const replies = await Promise.all(workers.map((worker, index) => worker.ask(question(index))));
  for (const { error } of replies) if (error !== undefined) throw new Error(`in a worker: ${error}`);
  return replies;
}
