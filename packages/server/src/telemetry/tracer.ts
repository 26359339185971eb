/** Spans of requests and, within them, of what the store was asked. A span holds names of routes and policies, never a key. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Store } from 'sluice';
import { type Answer, around, asking, type Question } from 'sluice/store';
import { type Attributes, SPAN_KIND, type Span, type SpanKind } from './spans.ts';
import { isSampled, newSpanId, newTraceId, parseTraceparent, type Sampling } from './trace-context.ts';

/** A span that has begun. */
export interface OpenSpan {
  /** What is asked of the store meanwhile belongs to it. */
  within<T>(work: () => T): T;
  end(name: string, attributes: Attributes, isError: boolean): void;
}

export interface Tracer {
  /** Undefined when this one is not recorded. */
  begin(traceparent: string | undefined): OpenSpan | undefined;
  /** The same store, with a span for each question that is asked within a span. `system` is what the state is kept on, if it is a database. */
  traced(store: Store, system: string | undefined): Store;
}

interface Current {
  readonly traceId: string;
  readonly spanId: string;
}

export function createTracer(sampling: Sampling, add: (span: Span) => void): Tracer {
  const storage = new AsyncLocalStorage<Current>();
  const begin = (traceId: string, parentSpanId: string | undefined, kind: SpanKind): OpenSpan => {
    const startedAt = now();
    const spanId = newSpanId();
    return {
      within: (work) => storage.run({ traceId, spanId }, work),
      end: (name, attributes, isError) =>
        add({ ...{ traceId, spanId, parentSpanId, name, kind, startedAt, attributes, isError }, endedAt: now() }),
    };
  };
  return {
    begin(traceparent) {
      const parent = parseTraceparent(traceparent);
      const traceId = parent?.traceId ?? newTraceId();
      return isSampled(traceId, parent, sampling) ? begin(traceId, parent?.spanId, SPAN_KIND.server) : undefined;
    },
    traced(store, system) {
      const kind = system === undefined ? SPAN_KIND.internal : SPAN_KIND.client;
      return around(store, (question) => {
        const current = storage.getStore();
        if (current === undefined) return store.ask(question);
        const span = begin(current.traceId, current.spanId, kind);
        const end = (attributes: Attributes, isError = false): void => {
          const all = {
            ...(system === undefined ? {} : { 'db.system.name': system }),
            ...questionText(question),
            ...attributes,
          };
          span.end(`sluice.${question.verb}`, all, isError);
        };
        return asking(
          store,
          question,
          (answer) => {
            end(answerText(answer));
            return answer;
          },
          (error) => {
            end({ 'error.type': error instanceof Error ? error.name : 'unknown' }, true);
            throw error;
          },
        );
      });
    },
  };
}

/** Unix time in microseconds, which goes on evenly within a process. */
function now(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1e3);
}

function questionText(question: Question): Attributes {
  if (question.verb !== 'attempt') return {};
  const policies = [question.policy, ...question.and.map(({ policy }) => policy)];
  return { 'sluice.policies': policies.map(({ name }) => name).join(',') };
}

function answerText({ allowed, source }: Answer): Attributes {
  return { 'sluice.allowed': allowed, 'sluice.source': source };
}
