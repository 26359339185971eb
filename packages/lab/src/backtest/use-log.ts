/** The worker, from the side of the page: a log at a time, and of all policies that were asked for while it was busy only the last. */

import type { PolicyReport } from '@sluice/server/backtest/engine';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FromWorker, ReadLog, ToWorker } from './messages.ts';

export interface LogState {
  readonly log: ReadLog | undefined;
  readonly report: PolicyReport | undefined;
  readonly progress: { readonly share: number; readonly lines: number } | undefined;
  readonly problem: string | undefined;
  /** Milliseconds from the last question to its answer. */
  readonly answeredIn: number | undefined;
}

const NOTHING: LogState = {
  log: undefined,
  report: undefined,
  progress: undefined,
  problem: undefined,
  answeredIn: undefined,
};

export interface UsedLog extends LogState {
  open(log: Blob, name: string, key: string, format: string): void;
  decide(policy: Readonly<Record<string, unknown>>): void;
}

export function useLog(): UsedLog {
  const [state, setState] = useState<LogState>(NOTHING);
  const asker = useRef<Asker | undefined>(undefined);
  useEffect(() => () => asker.current?.end(), []);
  return {
    ...state,
    open(log, name, key, format) {
      asker.current?.end();
      setState({ ...NOTHING, progress: { share: 0, lines: 0 } });
      asker.current = new Asker((change) => setState((before) => ({ ...before, ...change })));
      asker.current.post({ kind: 'open', log, name, key, format });
    },
    decide: (policy) => asker.current?.decide(policy),
  };
}

class Asker {
  readonly #worker = new Worker(new URL('./log-worker.ts', import.meta.url), { type: 'module' });
  #id = 0;
  #askedAt = 0;
  #isBusy = false;
  #next: Readonly<Record<string, unknown>> | undefined;

  constructor(onChange: (change: Partial<LogState>) => void) {
    this.#worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => onChange(this.#heard(data)));
    this.#worker.addEventListener('error', () =>
      onChange({ problem: 'the worker of this page ended', progress: undefined }),
    );
  }

  post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  decide(policy: Readonly<Record<string, unknown>>): void {
    if (this.#isBusy) {
      this.#next = policy;
      return;
    }
    this.#isBusy = true;
    this.#id += 1;
    this.#askedAt = performance.now();
    this.post({ kind: 'decide', id: this.#id, policy });
  }

  #heard(message: FromWorker): Partial<LogState> {
    if (message.kind === 'progress') {
      return { progress: { share: message.bytes / Math.max(1, message.size), lines: message.lines } };
    }
    if (message.kind === 'read') return { log: message.log, progress: undefined };
    this.#isBusy = false;
    const answeredIn = performance.now() - this.#askedAt;
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) this.decide(next);
    if (message.kind === 'failed') return { problem: message.message, progress: undefined };
    return { report: message.report, answeredIn, problem: undefined };
  }

  end(): void {
    this.#worker.terminate();
  }
}
