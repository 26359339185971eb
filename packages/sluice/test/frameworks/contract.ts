/**
 * What every adapter does, in one table: requests over a real socket, and the exact status, headers and body that come back. An
 * adapter's test says how to start a server with its framework; all rows are the same for all of them.
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { RequestResult } from '../../src/http/index.ts';
import { type ManualClock, manualClock, type SluiceError } from '../../src/index.ts';
import { type AnyOptions, type Ask, ROWS } from './contract-rows.ts';

export interface App {
  /** For every request, whatever its method and path. */
  readonly options: AnyOptions;
  /** Instead of that, at this path. */
  readonly routes: Readonly<Record<string, AnyOptions>>;
  /** What handlers answer: the framework's own way to send this. */
  answer(result: RequestResult | undefined, header: (name: string) => string | undefined): Answer;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Running {
  readonly port: number;
  stop(): unknown;
}

/** Starts a server on a free port of 127.0.0.1 that handles requests for all paths as `app` says. */
export type Start = (app: App) => Promise<Running>;
const NOW = 1_700_000_000_000;
const HEADERS = [
  ...['ratelimit-policy', 'ratelimit', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'],
  ...['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-teapot'],
];
const ON_DENIED_TOO = ['content-type', 'cache-control'];

const unexpected = (warning: SluiceError): void => {
  throw warning;
};

export function frameworkContract(name: string, start: Start): void {
  describe(name, () => {
    let running: Running | undefined;
    afterEach(async () => {
      await running?.stop();
      running = undefined;
    });

    test.each(ROWS)('$title', async ({ options, routes, asks, handled }) => {
      const clock = manualClock(NOW);
      let handlers = 0;
      running = await start({
        options: { onWarning: unexpected, onError: () => {}, ...options(clock) },
        routes: routes?.(clock) ?? {},
        answer(result, header) {
          handlers += 1;
          const left = result ? `${result.remaining} left` : 'nothing';
          const body = header('x-who')
            ? `${result!.key}: ${left}, ${'key' in JSON.parse(JSON.stringify(result))}`
            : left;
          return { status: Number(header('x-answer') ?? 200), body };
        },
      });
      const seen: Seen[] = [];
      for (const ask of asks) seen.push(await send(running.port, clock, ask));
      expect(seen).toEqual(
        asks.map(({ status, sees, body }, index) => ({
          status,
          sees: sees ?? seen[index]!.sees,
          body: body ?? seen[index]!.body,
        })),
      );
      expect(handlers).toBe(handled);
    });
  });
}

interface Seen {
  readonly status: number;
  readonly sees: Readonly<Record<string, string>>;
  readonly body: string;
}

async function send(
  port: number,
  clock: ManualClock,
  { method = 'GET', path = '/', headers, after = 0 }: Ask,
): Promise<Seen> {
  clock.advance(after);
  const signal = AbortSignal.timeout(4000);
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { ...headers }, signal });
  const isDenial = response.headers.has('cache-control');
  const names = isDenial ? [...HEADERS, ...ON_DENIED_TOO] : HEADERS;
  const found = names.map((name) => [name, response.headers.get(name)] as const);
  const sees = Object.fromEntries(found.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
  return { status: response.status, sees, body: await response.text() };
}
