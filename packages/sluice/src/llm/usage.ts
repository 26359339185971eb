/**
 * How many tokens an answer of a model has used, read from its stream as it passes: the usage that OpenAI (chat completions and responses), Anthropic and
 * Gemini put into their last events. Chunks may be the events of an SDK, or the text or bytes of server-sent events.
 */

/** Reads one stream: called with each chunk, it says how many tokens were used in all, once that is known. */
export type ReadUsage = (chunk: unknown) => number | undefined;

/** A line of an event that is longer than this is not read: it holds no usage, and nobody fills the memory with it. */
const LONGEST_LINE = 1_048_576;

/**
 * Makes a reader for one stream. OpenAI tells the usage of chat completions only if asked: `stream_options: { include_usage: true }`.
 *
 * @example
 * const read = usageReader();
 * for await (const event of stream) used = read(event) ?? used;
 */
export function usageReader(): ReadUsage {
  const decoder = new TextDecoder();
  let line = '';
  let isTooLong = false;
  let input = 0;
  let total: number | undefined;

  const readEvent = (event: unknown): void => {
    const { type, usage, message, response, usageMetadata } = fieldsOf(event);
    if (type === 'message_start') input = inputOf(fieldsOf(message).usage);
    const { total_tokens: all, output_tokens: output } = fieldsOf(usage ?? fieldsOf(response).usage);
    if (isCount(all)) total = all;
    else if (type === 'message_delta' && isCount(output)) total = input + output;
    const { totalTokenCount } = fieldsOf(usageMetadata);
    if (isCount(totalTokenCount)) total = totalTokenCount;
  };

  const readLine = (): void => {
    const data = isTooLong ? undefined : /^data: ?(\{.*)$/s.exec(line)?.[1];
    line = '';
    isTooLong = false;
    if (data === undefined) return;
    try {
      readEvent(JSON.parse(data));
    } catch {
      // What is no JSON says nothing about usage.
    }
  };

  const readText = (text: string): void => {
    const [first, ...rest] = text.split(/\r?\n/);
    append(first!);
    for (const next of rest) {
      readLine();
      append(next);
    }
  };

  const append = (text: string): void => {
    isTooLong ||= line.length + text.length > LONGEST_LINE;
    line = isTooLong ? '' : line + text;
  };

  return (chunk) => {
    if (typeof chunk === 'string') readText(chunk);
    else if (chunk instanceof Uint8Array) readText(decoder.decode(chunk, { stream: true }));
    else readEvent(chunk);
    return total;
  };
}

/** Anthropic counts what it has cached apart. */
function inputOf(usage: unknown): number {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = fieldsOf(usage);
  return [input_tokens, cache_creation_input_tokens, cache_read_input_tokens]
    .filter(isCount)
    .reduce((sum, count) => sum + count, 0);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
