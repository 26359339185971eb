/**
 * Settles a hold when a stream ends. The stream passes unchanged, chunk by chunk and no faster than it is read, and what was used is read from it. An
 * answer that breaks off, fails or is no longer wanted is settled too: with what is known then, and otherwise with what was reserved, because
 * the model has worked and nobody knows how much.
 */
import type { Cost } from '../limiter/costs.ts';
import type { Settlement } from '../limiter/settle.ts';
import { Kind } from '../model/errors.ts';
import { checkFunction, checkOptionNames, invalidOption } from '../model/options.ts';
import { emitWarning } from '../model/runtime.ts';
import { type ReadUsage, usageReader } from './usage.ts';

/** What `settleWhen` takes besides the hold and the stream. */
export interface SettleWhenOptions {
  /**
   * Called with each chunk: units that were used so far, in all, or undefined while that is not known. Default: reads the usage in the events of OpenAI,
   * Anthropic and Gemini.
   */
  readonly count?: ReadUsage | undefined;
  /** What to commit for so many units, where the hold has a cost for each policy: `(tokens) => ({ requests: 1, tokens })`. Default: the units. */
  readonly cost?: ((units: number) => Cost) | undefined;
  /** Called when it is settled. */
  readonly onSettled?: ((settlement: Settlement) => void) | undefined;
  /** Called when it could not be settled: the stream goes on all the same. Default: a warning of the runtime. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** What can be settled: the hold of `limiter.reserve`. */
interface Settleable {
  commit(actual?: Cost): Promise<Settlement>;
}

/**
 * The same stream, which settles the hold when it has ended: a web `ReadableStream` such as the body of a response, or anything that can be
 * iterated with `for await`, such as the streams of SDKs and of Node.
 *
 * @example
 * const stream = await openai.chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } });
 * for await (const event of settleWhen(hold, stream)) response.write(event.choices[0]?.delta.content ?? '');
 */
export function settleWhen<Chunk>(
  hold: Settleable,
  stream: ReadableStream<Chunk>,
  options?: SettleWhenOptions,
): ReadableStream<Chunk>;
export function settleWhen<Chunk>(
  hold: Settleable,
  stream: AsyncIterable<Chunk>,
  options?: SettleWhenOptions,
): AsyncGenerator<Chunk, void, undefined>;
export function settleWhen<Chunk>(
  hold: Settleable,
  stream: ReadableStream<Chunk> | AsyncIterable<Chunk>,
  options: SettleWhenOptions = {},
): ReadableStream<Chunk> | AsyncGenerator<Chunk, void, undefined> {
  checkOptionNames(options, ['count', 'cost', 'onSettled', 'onError'], 'settleWhen');
  for (const name of ['count', 'cost', 'onSettled', 'onError'] as const)
    checkFunction(options[name], `settleWhen.${name}`);
  if (typeof hold?.commit !== 'function')
    throw invalidOption('settleWhen(hold)', 'a hold that is allowed', Kind.of(hold));
  const meter = meterOf(hold, options);
  if (typeof (stream as Partial<ReadableStream>)?.getReader === 'function') {
    return metered(stream as ReadableStream<Chunk>, meter);
  }
  if (typeof (stream as Partial<AsyncIterable<Chunk>>)?.[Symbol.asyncIterator] === 'function') {
    return passed(stream as AsyncIterable<Chunk>, meter);
  }
  throw invalidOption(
    'settleWhen(hold, stream)',
    'a ReadableStream or something to iterate with for await',
    Kind.of(stream),
  );
}

interface Meter {
  see(chunk: unknown): void;
  /** Once, however often it is called. Never rejects. */
  end(): Promise<void>;
}

function meterOf(hold: Settleable, options: SettleWhenOptions): Meter {
  const { count = usageReader(), cost = (units) => units, onSettled, onError = warn } = options;
  let used: number | undefined;
  let ended: Promise<void> | undefined;
  const settle = async (): Promise<void> => {
    try {
      const settlement = await (used === undefined ? hold.commit() : hold.commit(cost(used)));
      onSettled?.(settlement);
    } catch (error) {
      onError(error);
    }
  };
  return {
    see(chunk) {
      try {
        used = count(chunk) ?? used;
      } catch (error) {
        onError(error);
      }
    },
    end: () => (ended ??= settle()),
  };
}

async function* passed<Chunk>(stream: AsyncIterable<Chunk>, meter: Meter): AsyncGenerator<Chunk, void, undefined> {
  try {
    for await (const chunk of stream) {
      meter.see(chunk);
      yield chunk;
    }
  } finally {
    await meter.end();
  }
}

function metered<Chunk>(stream: ReadableStream<Chunk>, meter: Meter): ReadableStream<Chunk> {
  const reader = stream.getReader();
  return new ReadableStream<Chunk>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          await meter.end();
          controller.close();
          return;
        }
        meter.see(value);
        controller.enqueue(value);
      } catch (error) {
        await meter.end();
        throw error;
      }
    },
    async cancel(reason) {
      await Promise.all([reader.cancel(reason), meter.end()]);
    },
  });
}

function warn(error: unknown): void {
  emitWarning(error instanceof Error ? error : new Error(String(error)));
}
