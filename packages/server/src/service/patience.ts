/** Rings for whatever takes too long. Everything may take equally long, so it falls due in the order it came: one line and one timer serve all of it. */
export interface Awaited {
  readonly dueAt: number;
  readonly ring: () => void;
}

export class Patience {
  readonly #timeoutMs: number;
  /** In the order they came. */
  readonly #line = new Set<Awaited>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  wait(ring: () => void): Awaited {
    const awaited = { dueAt: performance.now() + this.#timeoutMs, ring };
    this.#line.add(awaited);
    this.#timer ??= this.#after(this.#timeoutMs);
    return awaited;
  }

  end(awaited: Awaited): void {
    this.#line.delete(awaited);
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), ms).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const { dueAt, ring } of this.#line) {
      if (dueAt > now) {
        this.#timer = this.#after(Math.ceil(dueAt - now));
        return;
      }
      ring();
    }
  }
}
