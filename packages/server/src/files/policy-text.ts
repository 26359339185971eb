/** A policy in words, by the kinds of its fields. */
import type { Policy } from 'sluice';
import { fieldsOf } from './algorithms.ts';
import { exactTime, rateText } from './time-text.ts';

export function policyText(policy: Policy): string {
  const values = policy as unknown as Readonly<Record<string, unknown>>;
  const text = fieldsOf(policy.algorithm).flatMap(([name, { kind }]) => {
    const value = values[name];
    if (value === undefined) return [];
    if (kind === 'duration') return `${name} ${exactTime(Number(value))}`;
    return `${name} ${kind === 'rate' ? rateText(Number(value)) : value}`;
  });
  return `${policy.algorithm} ${text.join(', ')}`.trim();
}
