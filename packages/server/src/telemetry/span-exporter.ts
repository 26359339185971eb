/**
 * Sends spans to a collector, several at a time, and never holds up a request: what waits is bounded, and what does not fit is dropped and
 * counted. A collector that is away for a while gets what is still there when it is back.
 */
import { otlpJson, type Span } from './spans.ts';
import type { TraceSettings } from './trace-settings.ts';

export interface ExporterEvents {
  /** Once for each outage of the collector. */
  onProblem(message: string, fields: Readonly<Record<string, unknown>>): void;
  onDelivered(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/** The statuses with which a collector says that it may be tried again. */
const TRY_AGAIN = [429, 502, 503, 504];

export class SpanExporter {
  readonly #settings: TraceSettings;
  readonly #scope: { readonly name: string; readonly version: string };
  readonly #events: ExporterEvents;
  readonly #queue: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isAway = false;
  #dropped = 0;

  constructor(settings: TraceSettings, version: string, events: ExporterEvents) {
    this.#settings = settings;
    this.#scope = { name: 'sluice', version };
    this.#events = events;
  }

  add(span: Span): void {
    const { maxQueue, maxBatch } = this.#settings;
    if (this.#queue.length >= maxQueue) {
      this.#dropped += 1;
      return;
    }
    this.#queue.push(span);
    // A collector that is away is tried again in time, not with every span.
    if (this.#queue.length >= maxBatch && !this.#isAway) void this.#flush();
    else this.#schedule();
  }

  /** Sends what waits, once. */
  async close(): Promise<void> {
    await this.#sending;
    await this.#flush();
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const ring = (): void => {
      this.#timer = undefined;
      void this.#flush();
    };
    this.#timer ??= setTimeout(ring, this.#settings.delayMs).unref();
  }

  #flush(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
      if (this.#queue.length > 0) this.#schedule();
    });
    return this.#sending;
  }

  async #send(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, this.#settings.maxBatch);
      const problem = await this.#post(batch);
      if (problem?.isOver === false) {
        this.#failed(problem.text);
        return;
      }
      this.#queue.splice(0, batch.length);
      if (problem === undefined) this.#delivered();
      else {
        this.#dropped += batch.length;
        this.#failed(problem.text);
      }
    }
  }

  /** Undefined when it has arrived. */
  async #post(batch: readonly Span[]): Promise<{ readonly text: string; readonly isOver: boolean } | undefined> {
    const { url, headers, timeoutMs, resource } = this.#settings;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: otlpJson(batch, resource, this.#scope),
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.arrayBuffer();
      if (response.ok) return undefined;
      return { text: `it answered ${response.status}`, isOver: !TRY_AGAIN.includes(response.status) };
    } catch (error) {
      const { cause, message } = error as Error;
      return { text: (cause as Error | undefined)?.message || message, isOver: false };
    }
  }

  #failed(error: string): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#events.onProblem('traces do not arrive at the collector', { url: this.#settings.url, error });
  }

  #delivered(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#events.onDelivered('traces arrive at the collector again', { dropped: this.#dropped });
    this.#dropped = 0;
  }
}
