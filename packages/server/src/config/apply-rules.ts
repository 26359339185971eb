/**
 * What the rules say of one request. Every rule that matches applies, from top to bottom, and all of them together are one attempt:
 * it spends everywhere or nowhere. A rule with `unlimited` ends the reading. The same function serves requests and `sluice explain`, so
 * that the explanation cannot differ from what happens.
 */
import type { Policy } from 'sluice';
import type { RequestView } from 'sluice/http';
import type { Config, Rule, RuleLimit } from './config.ts';
import { effectivePolicy } from './effective.ts';
import { meantAmong, mismatch } from './match.ts';
import { RequestPaths, routesAmong } from './request-paths.ts';

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
  const asked = { view, paths: new RequestPaths(view.path) };
  return config.rules.map((rule) => {
    const outcome: RuleOutcome = isOver
      ? { rule: rule.name, outcome: 'not-read' }
      : outcomeOf(rule, config, asked, now);
    isOver ||= outcome.outcome === 'unlimited';
    return outcome;
  });
}

interface AskedRequest {
  readonly view: RequestView;
  readonly paths: RequestPaths;
}

function outcomeOf(rule: Rule, config: Config, asked: AskedRequest, now: number): RuleOutcome {
  const { name, matcher, limit } = rule;
  const because = mismatch(matcher, { ...asked, isSure: limit === undefined });
  if (because !== undefined) return { rule: name, outcome: 'no-match', because };
  if (limit === undefined) return { rule: name, outcome: 'unlimited' };
  const keys = keysOf(rule, limit, asked);
  if (keys === undefined) return { rule: name, outcome: 'no-key', keyText: limit.keyText };
  const plan = limit.plan?.(asked.view);
  return { rule: name, outcome: 'limited', spends: keys.flatMap((key) => spendsOf(limit, config, key, plan, now)) };
}

/** One, unless the key is made of a path that may be that of several routes: then one for each. Undefined: the request does not say. */
function keysOf({ matcher }: Rule, limit: RuleLimit, { view, paths }: AskedRequest): readonly string[] | undefined {
  const key = limit.key(view);
  if (key === undefined) return undefined;
  if (!limit.isByRoute) return [key];
  const routes = routesAmong(meantAmong(matcher, paths));
  return [...new Set(routes.map((path) => limit.key({ ...view, path })!))];
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
