/**
 * How a question goes to an object and its answer comes back: as JSON, with what JSON cannot say of numbers as text. A policy goes as its data and the
 * identity under which its state is kept; the object makes its rule.
 */
import { type ErrorCode, mistaken } from '../../model/errors.ts';
import { type Policy, ruleOf } from '../../model/policy.ts';
import type { Answer, Question } from '../../model/store.ts';
import { type CheckPolicyOptions, checkPolicy } from '../../policies/check-policy.ts';

/** What is asked of an object. */
export interface Asked {
  readonly question: Question;
  /** Microseconds, for tests. Without it the clock of the object decides. */
  readonly now?: number | undefined;
}

/** What it answers: one of the two. */
export interface Told {
  readonly answer?: Answer | undefined;
  /** A mistake of the caller. */
  readonly mistake?: { readonly code: ErrorCode; readonly path: string; readonly message: string } | undefined;
}

interface WrittenPolicy {
  readonly '#policy': Readonly<Record<string, unknown>>;
  readonly identity: string;
}

export function write(message: Asked | Told): string {
  return JSON.stringify(message, (name, value: unknown) => {
    if (name === 'policy' && typeof value === 'object' && value !== null) return written(value as Policy);
    if (name === 'policies' && Array.isArray(value)) return value.map((policy) => written(policy as Policy));
    return typeof value === 'number' && !Number.isFinite(value) ? `#${value}` : value;
  });
}

function written(policy: Policy): WrittenPolicy {
  return { '#policy': { ...policy }, identity: ruleOf(policy).identity };
}

export function readTold(text: string): Told {
  return JSON.parse(text, (_, value: unknown) => numberOf(value)) as Told;
}

/** Rules are compiled once for each policy that comes. */
export class QuestionReader {
  readonly #options: CheckPolicyOptions;
  readonly #policies = new Map<string, Policy>();

  constructor(options: CheckPolicyOptions) {
    this.#options = options;
  }

  read(text: string): Asked {
    return JSON.parse(text, (_, value: unknown) => {
      const isPolicy = typeof value === 'object' && value !== null && '#policy' in value;
      return isPolicy ? this.#policyOf(value as WrittenPolicy) : numberOf(value);
    }) as Asked;
  }

  #policyOf(value: WrittenPolicy): Policy {
    const text = JSON.stringify(value);
    const known = this.#policies.get(text);
    if (known !== undefined) return known;
    const policy = this.#made(value);
    // An object has one key, and few policies; whoever makes them up must not fill it.
    if (this.#policies.size >= MOST_POLICIES) this.#policies.clear();
    this.#policies.set(text, policy);
    return policy;
  }

  /** One that was given no name is called by its algorithm, and is known by its numbers. */
  #made({ '#policy': data, identity }: WrittenPolicy): Policy {
    const { name: _name, ...nameless } = data;
    for (const each of [data, nameless]) {
      const policy = checkPolicy(each, 'policy', this.#options);
      if (ruleOf(policy).identity === identity) return policy;
    }
    throw mistaken(
      'SLUICE_INVALID_POLICY',
      'policy',
      `The worker and its object do not agree on the policy "${String(data.name)}": deploy both with the same version of Sluice.`,
    );
  }
}

const MOST_POLICIES = 100;

function numberOf(value: unknown): unknown {
  if (value === '#Infinity') return Number.POSITIVE_INFINITY;
  return value === '#-Infinity' ? Number.NEGATIVE_INFINITY : value;
}
