/** What every engine must do when it goes away and comes back, seen through the store as people install it. */
import { expect, vi } from 'vitest';
import { createLimiter, type RateLimitResult, type Store, tokenBucket } from '../../../src/index.ts';

export interface Outage {
  readonly store: Store;
  /** Takes the engine away. */
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
  /** The longest an answer may take, in milliseconds: what the options say, and room for a busy machine. */
  readonly bound: number;
}

/** Warnings of Sluice, by their codes. */
export function watchWarnings(): { readonly codes: string[]; stop(): void } {
  const codes: string[] = [];
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation(((warning: { code?: string }) => {
    if (String(warning?.code).startsWith('SLUICE_')) codes.push(warning.code!);
  }) as never);
  return { codes, stop: () => spy.mockRestore() };
}

/** The engine decides, is away and the fallback does, is back and goes on from where it was: with one warning each way. */
export async function expectBoundedOutage({ store, begin, end, bound }: Outage): Promise<void> {
  const policy = tokenBucket({ name: `outage ${Math.random()}`, capacity: 100, refillRate: '1/d' });
  const limiter = createLimiter({ policy, store });
  // On a busy machine the engine may be late with its first answers: what is tested begins when it is there.
  let key = '';
  await vi.waitUntil(
    async () => {
      key = `key ${Math.random()}`;
      const { remaining, source } = await limiter.attempt(key, { cost: 10 });
      return remaining === 90 && source === 'store';
    },
    { timeout: 60_000, interval: 50 },
  );
  const warnings = watchWarnings();
  try {
    await begin();
    const during: RateLimitResult[] = [];
    for (let time = 0; time < 12; time += 1) {
      const start = performance.now();
      during.push(await limiter.attempt(key));
      expect(performance.now() - start).toBeLessThan(bound);
    }
    expect(during.map(({ source }) => source)).toEqual(Array(12).fill('fallback'));
    expect(during.at(-1)!.remaining, 'the fallback goes on from what the engine has said').toBe(78);
    expect(warnings.codes).toEqual(['SLUICE_STORE_AWAY']);
    await end();
    await vi.waitUntil(async () => (await limiter.attempt(key)).source === 'store', {
      timeout: 60_000,
      interval: 50,
    });
    await vi.waitUntil(() => warnings.codes.length > 1);
    expect(warnings.codes).toEqual(['SLUICE_STORE_AWAY', 'SLUICE_STORE_BACK']);
  } finally {
    warnings.stop();
  }
}
