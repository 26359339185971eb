/** What a provider says of its own limits in the headers of a response: the truth, where it is less than what we count. */

import type { Limiter } from '../limiter/limiter.ts';
import type { RateLimitResult } from '../model/decision.ts';

/** What is left with a provider. Undefined where its headers say nothing. */
export interface ProviderRemaining {
  readonly requests: number | undefined;
  readonly tokens: number | undefined;
}

/** The names of OpenAI and those who do as it does, and those of Anthropic. */
const REQUESTS = ['x-ratelimit-remaining-requests', 'anthropic-ratelimit-requests-remaining'] as const;
const TOKENS = ['x-ratelimit-remaining-tokens', 'anthropic-ratelimit-tokens-remaining'] as const;

/** Requests and tokens that are left, as the headers of OpenAI, Anthropic and compatible servers say it. */
export function providerRemaining(headers: Pick<Headers, 'get'>): ProviderRemaining {
  return { requests: numberIn(headers, REQUESTS), tokens: numberIn(headers, TOKENS) };
}

function numberIn(headers: Pick<Headers, 'get'>, names: readonly string[]): number | undefined {
  for (const name of names) {
    const text = headers.get(name);
    if (text !== null && /^\d{1,15}$/.test(text.trim())) return Number(text);
  }
  return undefined;
}

/**
 * Lowers what we count to what the provider says is left, for each policy by its name; never raises it. Others may use the same account. What is
 * undefined is left as it is.
 *
 * @example
 * const { requests, tokens } = providerRemaining(response.headers);
 * await lowerTo(limiter, 'openai', { requests, tokens });
 */
export async function lowerTo(
  limiter: Pick<Limiter, 'peek' | 'penalize'>,
  key: string,
  remaining: Readonly<Record<string, number | undefined>>,
): Promise<RateLimitResult> {
  const look = await limiter.peek(key, { cost: 0 });
  const costs = look.decisions.map(({ policy, remaining: ours }): [string, number] => {
    return [policy, Math.max(0, ours - (remaining[policy] ?? ours))];
  });
  if (costs.every(([, units]) => units === 0)) return look;
  return limiter.penalize(key, { cost: Object.fromEntries(costs) });
}
