/** Tokens: estimates that are learned, streams that settle what they used, and what a provider says of its limits. */
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  type Hold,
  manualClock,
  memoryStore,
  type Settlement,
  tokenBucket,
} from '../../src/index.ts';
import { estimates, lowerTo, providerRemaining, settleWhen, usageReader } from '../../src/llm/index.ts';

const START = 1_763_280_000_000;
const requests = fixedWindow({ name: 'requests', limit: 100, window: '1m' });
const tokens = tokenBucket({ name: 'tokens', capacity: 10_000, refillRate: 10 });
const limiterOf = () =>
  createLimiter({ policies: [requests, tokens], store: memoryStore({ clock: manualClock(START) }) });
const left = async (limiter: ReturnType<typeof limiterOf>) =>
  (await limiter.peek('openai', { cost: 0 })).decisions.map(({ remaining }) => remaining);

describe('estimates', () => {
  test('a quantile of what was learned, within a step of 8 %', () => {
    const known = estimates({ quantile: 0.9, first: 500 });
    expect(known.of('gpt').value).toBe(500);
    for (let cost = 1; cost <= 1000; cost += 1) known.of('gpt').learn(cost);
    const { value } = known.of('gpt');
    expect(value).toBeGreaterThanOrEqual(900);
    expect(value).toBeLessThan(900 * 1.08);
    expect(known.of('another').value).toBe(500);
  });

  test('what is known beforehand is not estimated', () => {
    const known = estimates({ first: 1 });
    for (let time = 0; time < 100; time += 1) known.of('gpt', 7000).learn(7000 + 50);
    const { value } = known.of('gpt', 20);
    expect(value).toBeGreaterThanOrEqual(20 + 50);
    expect(value).toBeLessThanOrEqual(20 + 54);
  });

  test('a change is followed', () => {
    const known = estimates();
    for (let time = 0; time < 5000; time += 1) known.of('gpt').learn(100);
    for (let time = 0; time < 3000; time += 1) known.of('gpt').learn(4000);
    expect(known.of('gpt').value).toBeGreaterThanOrEqual(4000);
    for (let time = 0; time < 6000; time += 1) known.of('gpt').learn(0);
    expect(known.of('gpt').value).toBe(0);
  });

  test('names are bounded: the one that was not used for longest goes', () => {
    const known = estimates({ maxNames: 2, first: 7 });
    for (const name of ['a', 'b']) for (let time = 0; time < 10; time += 1) known.of(name).learn(100);
    known.of('a');
    known.of('c');
    expect([known.of('a').value >= 100, known.of('b').value]).toEqual([true, 7]);
  });

  test('a hold reserves what they say, and they learn what it was', async () => {
    const limiter = limiterOf();
    const answers = estimates({ first: 400 });
    for (let time = 0; time < 10; time += 1) {
      const hold = await limiter.reserve('openai', { cost: { requests: 1, tokens: answers.of('gpt', 100) } });
      expect(hold.cost).toEqual({ requests: 1, tokens: 500 });
      await hold.commit({ requests: 1, tokens: 130 });
    }
    const hold = await limiter.reserve('openai', { cost: { requests: 1, tokens: answers.of('gpt', 100) } });
    expect(hold.cost.tokens).toBe(131);
    expect(await left(limiter)).toEqual([89, 10_000 - 1300 - 131]);
  });

  test('a hold that is cancelled, or committed without a number, teaches nothing', async () => {
    const limiter = limiterOf();
    const answers = estimates({ first: 1 });
    const reserve = () => limiter.reserve('openai', { cost: { requests: 1, tokens: answers.of('gpt') } });
    for (let time = 0; time < 12; time += 1) await (await reserve()).commit({ requests: 1, tokens: 50 });
    for (let time = 0; time < 30; time += 1) await (await reserve()).cancel();
    for (let time = 0; time < 30; time += 1) await (await reserve()).commit();
    const { value } = answers.of('gpt');
    expect([value >= 50, value <= 54]).toEqual([true, true]);
  });

  test.each([
    [{ quantile: 1 }, 'estimates.quantile'],
    [{ first: -1 }, 'estimates.first'],
    [{ maxNames: 0 }, 'estimates.maxNames'],
    [{ quantil: 0.5 }, 'estimates.quantil'],
  ])('%j is refused', (options, path) => {
    expect(() => estimates(options as object)).toThrow(expect.objectContaining({ path }));
  });
});

const sse = (...events: object[]): string => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const OPENAI = [
  { choices: [{ delta: { content: 'Hi' } }], usage: null },
  { choices: [], usage: { prompt_tokens: 20, completion_tokens: 12, total_tokens: 32 } },
];
const ANTHROPIC = [
  { type: 'message_start', message: { usage: { input_tokens: 20, cache_read_input_tokens: 5, output_tokens: 1 } } },
  { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hi' } },
  { type: 'message_delta', usage: { output_tokens: 7 } },
];
const RESPONSES = [
  { type: 'response.output_text.delta' },
  { type: 'response.completed', response: { usage: { total_tokens: 32 } } },
];
const GEMINI = [{ usageMetadata: { totalTokenCount: 10 } }, { usageMetadata: { totalTokenCount: 32 } }];

describe('usage', () => {
  test.each([
    ['OpenAI', OPENAI, 32],
    ['Anthropic', ANTHROPIC, 32],
    ['OpenAI responses', RESPONSES, 32],
    ['Gemini', GEMINI, 32],
    ['nobody', [{ text: 'Hi' }, 'plain', 7, null], undefined],
  ])('of %s, as events, text and bytes, however it is cut', (_, events, total) => {
    const read = usageReader();
    expect(events.map((event) => read(event)).at(-1)).toBe(total);
    const text = sse(...(events as object[]));
    for (const size of [1, 7, 1000]) {
      const [texts, bytes] = [usageReader(), usageReader()];
      let seen: unknown[] = [];
      for (let at = 0; at < text.length; at += size) {
        const part = text.slice(at, at + size);
        seen = [texts(part), bytes(new TextEncoder().encode(part))];
      }
      expect(seen).toEqual([total, total]);
    }
  });

  test('what is no JSON, and lines without end, are passed over', () => {
    const read = usageReader();
    read('data: {oops\n\ndata: [DONE]\n\n');
    for (let time = 0; time < 20; time += 1) read(`data: {"x":"${'x'.repeat(100_000)}`);
    expect(read(`\n${sse(...OPENAI)}`)).toBe(32);
  });
});

describe('settleWhen', () => {
  const cost = (units: number) => ({ requests: 1, tokens: units });
  const held = async () => {
    const limiter = limiterOf();
    const hold = await limiter.reserve('openai', { cost: { requests: 1, tokens: 500 } });
    const settled: Settlement[] = [];
    return { limiter, hold, settled, options: { cost, onSettled: (told: Settlement) => void settled.push(told) } };
  };
  const collect = async (stream: AsyncIterable<unknown>): Promise<unknown[]> => {
    const chunks: unknown[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    return chunks;
  };
  async function* events(list: readonly unknown[], failure?: Error) {
    yield* list;
    if (failure !== undefined) throw failure;
  }

  test('an SDK stream passes unchanged, and settles what it used', async () => {
    const { limiter, hold, settled, options } = await held();
    expect(await collect(settleWhen(hold, events(OPENAI), options))).toEqual(OPENAI);
    expect(settled).toMatchObject([{ changed: 468, missing: 0 }]);
    expect(await left(limiter)).toEqual([99, 10_000 - 32]);
  });

  test('a web stream, such as the body of a response', async () => {
    const { limiter, hold, options } = await held();
    const body = new Response(sse(...ANTHROPIC)).body!;
    expect(await new Response(settleWhen(hold, body, options)).text()).toBe(sse(...ANTHROPIC));
    expect(await left(limiter)).toEqual([99, 10_000 - 32]);
  });

  test('a stream of Node', async () => {
    const { limiter, hold, options } = await held();
    await collect(settleWhen(hold, Readable.from([Buffer.from(sse(...OPENAI))]), options));
    expect(await left(limiter)).toEqual([99, 10_000 - 32]);
  });

  test.each([
    ['says nothing about usage', events([{ text: 'Hi' }]), 500],
    ['breaks off before it says', events(ANTHROPIC.slice(0, 2)), 500],
  ])('a stream that %s costs what was reserved', async (_, stream, used) => {
    const { limiter, hold, options } = await held();
    await collect(settleWhen(hold, stream, options));
    expect(await left(limiter)).toEqual([99, 10_000 - used]);
  });

  test('one that fails hands its error on, and is settled with what was counted', async () => {
    const { limiter, hold, options } = await held();
    let seen = 0;
    const count = () => (seen += 10);
    const stream = settleWhen(hold, events(['a', 'b', 'c'], new Error('model lost')), { ...options, count });
    await expect(collect(stream)).rejects.toThrow('model lost');
    expect(await left(limiter)).toEqual([99, 10_000 - 30]);
  });

  test('one that is left early is stopped, and settled', async () => {
    const { limiter, hold, options } = await held();
    let isStopped = false;
    async function* endless() {
      try {
        for (;;) yield 'token';
      } finally {
        isStopped = true;
      }
    }
    let seen = 0;
    for await (const _ of settleWhen(hold, endless(), { ...options, count: () => (seen += 1) })) if (seen === 42) break;
    expect([isStopped, await left(limiter)]).toEqual([true, [99, 10_000 - 42]]);
  });

  test('a web stream that is cancelled, or fails', async () => {
    for (const end of ['cancel', 'fail'] as const) {
      const { limiter, hold, options } = await held();
      let reason: unknown;
      const source = new ReadableStream({
        pull(controller) {
          if (end === 'fail') controller.error(new Error('model lost'));
          else controller.enqueue('x');
        },
        cancel: (why) => {
          reason = why;
        },
      });
      const reader = settleWhen(hold, source, options).getReader();
      if (end === 'fail') await expect(reader.read()).rejects.toThrow('model lost');
      else {
        await reader.read();
        await reader.cancel('client gone');
        expect(reason).toBe('client gone');
      }
      expect(await left(limiter)).toEqual([99, 9500]);
    }
  });

  test('a settlement that fails does not fail the stream', async () => {
    const { hold, options } = await held();
    await hold.cancel();
    const errors: unknown[] = [];
    const stream = settleWhen(hold, events(OPENAI), { ...options, onError: (error) => void errors.push(error) });
    expect(await collect(stream)).toEqual(OPENAI);
    expect(errors).toMatchObject([{ code: 'SLUICE_HOLD_SETTLED' }]);
  });

  test('what is no stream, and no hold, is refused', async () => {
    const { hold } = await held();
    expect(() => settleWhen(hold, 'text' as never)).toThrow('settleWhen(hold, stream): expected a ReadableStream');
    expect(() => settleWhen(undefined as unknown as Hold, events([]))).toThrow('settleWhen(hold): expected a hold');
  });
});

describe('what a provider says', () => {
  test.each([
    [
      { 'x-ratelimit-remaining-requests': '9', 'x-ratelimit-remaining-tokens': '1200' },
      { requests: 9, tokens: 1200 },
    ],
    [
      { 'anthropic-ratelimit-requests-remaining': '9', 'anthropic-ratelimit-tokens-remaining': '0' },
      { requests: 9, tokens: 0 },
    ],
    [{}, { requests: undefined, tokens: undefined }],
    [{ 'x-ratelimit-remaining-tokens': 'many' }, { requests: undefined, tokens: undefined }],
  ])('%j', (headers, expected) => {
    expect(providerRemaining(new Headers(headers as Record<string, string>))).toEqual(expected);
  });

  test('less than ours lowers ours, more and nothing change nothing', async () => {
    const limiter = limiterOf();
    await limiter.attempt('openai', { cost: { requests: 1, tokens: 1000 } });
    await lowerTo(limiter, 'openai', { requests: 200, tokens: 1200 });
    expect(await left(limiter)).toEqual([99, 1200]);
    await lowerTo(limiter, 'openai', { requests: undefined, tokens: undefined });
    await lowerTo(limiter, 'openai', {});
    expect(await left(limiter)).toEqual([99, 1200]);
  });
});
