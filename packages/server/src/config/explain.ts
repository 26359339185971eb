/** What would happen to a request, rule by rule, in words. Nothing is asked of a store. */
import type { RequestView } from 'sluice/http';
import { policyText } from '../files/policy-text.ts';
import { applyRules, type RuleOutcome, type Spend, spendsOfAll } from './apply-rules.ts';
import type { Config } from './config.ts';

export interface Explanation {
  readonly rules: readonly RuleOutcome[];
  readonly spends: readonly Spend[];
  readonly text: string;
}

export function explain(config: Config, view: RequestView, now: number): Explanation {
  const rules = applyRules(config, view, now);
  const spends = spendsOfAll(rules);
  const lines = [
    `${view.method} ${view.path}`,
    ...rules.flatMap((outcome) => linesOf(outcome, config)),
    summary(rules, spends),
  ];
  return { rules, spends, text: lines.join('\n') };
}

function linesOf(outcome: RuleOutcome, config: Config): string[] {
  switch (outcome.outcome) {
    case 'no-match':
      return [`  no   ${outcome.rule}: ${outcome.because}`];
    case 'not-read':
      return [`  -    ${outcome.rule}: not read`];
    case 'unlimited':
      return [`  yes  ${outcome.rule}: unlimited, further rules are not read`];
    case 'no-key':
      return [`  yes  ${outcome.rule}: but there is no key: the request has nothing for ${outcome.keyText}`];
    case 'limited':
      return [`  yes  ${outcome.rule}`, ...outcome.spends.map((spend) => `         ${spendText(spend, config)}`)];
  }
}

function spendText({ key, policy, cost, because }: Spend, config: Config): string {
  const shadow = config.policies.get(policy.name)?.shadow === true ? ', shadow: it never denies' : '';
  return `${policy.name}: ${policyText(policy)}, cost ${cost}, key ${JSON.stringify(key)} (${because}${shadow})`;
}

function summary(rules: readonly RuleOutcome[], spends: readonly Spend[]): string {
  if (rules.some(({ outcome }) => outcome === 'unlimited')) return 'Not limited.';
  if (rules.some(({ outcome }) => outcome === 'no-key')) return 'Refused with 400: a rule that matches has no key.';
  if (spends.length === 0) return 'Not limited: no rule matches.';
  return `Limited by ${spends.map(({ policy }) => policy.name).join(', ')}: spends from all of them or from none.`;
}
