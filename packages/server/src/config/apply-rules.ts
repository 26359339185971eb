/**
 * What the rules say of one request. Every rule that matches applies, from top to bottom, and all of them together are one attempt:
 * it spends everywhere or nowhere. A rule with `unlimited` ends the reading. The same function serves requests and `sluice explain`, so
 * that the explanation cannot differ from what happens.
 */
import type { Policy } from 'sluice';
import type { RequestView } from 'sluice/http';
import type { Config, Rule, RuleLimit } from './config.ts';
import { effectivePolicy } from './effective.ts';
import { mismatch } from './match.ts';

/** One state to spend from. */
export interface Spend {
  readonly key: string;
  readonly policy: Policy;
  readonly cost: number;
  readonly because: string;
}

export type RuleOutcome =
  | { readonly rule: string; readonly outcome: 'no-match'; readonly because: string }
  | { readonly rule: string; readonly outcome: 'unlimited' }
  /** It matches, and the request does not say who it is. */
  | { readonly rule: string; readonly outcome: 'no-key'; readonly keyText: string }
  | { readonly rule: string; readonly outcome: 'limited'; readonly spends: readonly Spend[] }
  /** A rule above it ended the reading. */
  | { readonly rule: string; readonly outcome: 'not-read' };

export function applyRules(config: Config, view: RequestView, now: number): readonly RuleOutcome[] {
  let isOver = false;
  return config.rules.map((rule) => {
    const outcome: RuleOutcome = isOver ? { rule: rule.name, outcome: 'not-read' } : outcomeOf(rule, config, view, now);
    isOver ||= outcome.outcome === 'unlimited';
    return outcome;
  });
}

function outcomeOf({ name, matcher, limit }: Rule, config: Config, view: RequestView, now: number): RuleOutcome {
  const because = mismatch(matcher, view, limit === undefined);
  if (because !== undefined) return { rule: name, outcome: 'no-match', because };
  if (limit === undefined) return { rule: name, outcome: 'unlimited' };
  const key = limit.key(view);
  if (key === undefined) return { rule: name, outcome: 'no-key', keyText: limit.keyText };
  return { rule: name, outcome: 'limited', spends: spendsOf(limit, config, key, limit.plan?.(view), now) };
}

function spendsOf(limit: RuleLimit, config: Config, key: string, plan: string | undefined, now: number): Spend[] {
  return limit.policies.map((name) => {
    const effective = effectivePolicy(config.policies.get(name)!, { key, plan, now });
    return { key, cost: limit.cost, ...effective };
  });
}

/**
 * All spends of a request: none when a rule says unlimited, whatever those above it say. Where two rules mean one state it is spent from
 * once, at the higher cost.
 */
export function spendsOfAll(outcomes: readonly RuleOutcome[]): readonly Spend[] {
  if (outcomes.some(({ outcome }) => outcome === 'unlimited')) return [];
  const byState = new Map<string, Spend>();
  for (const spend of outcomes.flatMap((outcome) => (outcome.outcome === 'limited' ? outcome.spends : []))) {
    const state = JSON.stringify([spend.key, spend.policy.name]);
    const known = byState.get(state);
    if (known === undefined || spend.cost > known.cost) byState.set(state, spend);
  }
  return [...byState.values()];
}
