/**
 * Settling a spend whose cost turned out to be another, in whatever process. A hold is a spend that the store has marked in the step in which it was
 * spent; its token says which mark that is. Settling removes the mark in the step that gives the rest back, so a hold is settled once, wherever,
 * and a server that has lost the spend in a failover has lost the mark with it and gives nothing back.
 */
import type { RateLimitResult } from '../model/decision.ts';
import { Kind, type SluiceError, wrong } from '../model/errors.ts';
import { invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { decidedAt } from '../model/result.ts';
import type { Spent } from '../model/step.ts';
import type { Answer, Change, Changes } from '../model/store.ts';
import { type ChangeResult, unitsOf } from './changes.ts';
import type { Core } from './core.ts';
import type { Amounts } from './costs.ts';
import { changeAll, penalties } from './debt.ts';

/** What was spent under each policy, in their order. */
export interface Spending {
  readonly key: string;
  readonly policies: readonly Policy[];
  readonly spent: readonly Spent[];
}

/** A spend that the store has marked. */
export interface MarkedSpending extends Spending {
  readonly id: string;
  /** When the mark ends: microseconds on the store's clock. */
  readonly ends: number;
}

/**
 * What a look sees after the settlement; `changed` is what was given back, or spent on top. Where there was nothing to change
 * the store is not asked, and the numbers are those of the reservation.
 */
export interface Settlement extends ChangeResult {
  /** Units that were used and that the key did not have, debt included: 0 unless more was used than reserved. */
  readonly missing: number;
  /** Settled after the ttl, when nothing is given back any more. */
  readonly expired: boolean;
}

/** The rest is given back, or what was used on top is spent. `mark`: whether the store has carried it out. */
export async function settleSpending<Context>(
  { store, freed }: Core<Context>,
  spending: Spending | MarkedSpending,
  actual: Amounts,
  maxDebt: Amounts,
): Promise<Omit<Settlement, 'expired'> & Pick<Answer, 'mark'>> {
  const { key, policies, spent } = spending;
  const over = spent.map(({ cost }, index) => actual[index]! - cost);
  const told = await changeAll(
    store,
    policies,
    (policy, index) => changesFor(key, policy, over[index]!, spent[index]!, maxDebt[index]!),
    settlesOf(spending),
  );
  const units = unitsOf(told);
  if (over.some((by, index) => by < 0 && units[index]! > 0)) freed(key);
  const moved = units.filter((_, index) => over[index] !== 0);
  const changed = moved.length === 0 ? 0 : Math.min(...moved);
  return { ...told, changed, missing: Math.max(...over.map((by, index) => Math.max(0, by - units[index]!))) };
}

function settlesOf(spending: Spending | MarkedSpending): Changes['settles'] {
  if (!('id' in spending)) return undefined;
  const { id, ends, spent, policies } = spending;
  return {
    id: markId(id, policies),
    marked: [ends, spent[0]!.at, ...spent.flatMap(({ until, cost }) => [until, cost])],
  };
}

/** The mark of a hold names the states it was spent from: a hold cannot be settled under policies that it was not made under. */
export function markId(id: string, policies: readonly Policy[]): string {
  return `h${id} ${policies.map((policy) => ruleOf(policy).identity).join(' ')}`;
}

/** The last of them is a look under the policy itself. */
function changesFor(key: string, policy: Policy, over: number, spent: Spent, maxDebt: number): readonly Change[] {
  if (over > 0) return penalties(key, policy, over, maxDebt);
  return [{ verb: 'refund', key, policy, cost: -over, spent: over === 0 ? undefined : spent }];
}

/** A hold as text that any process can settle. It names the mark and the spend it was made for; the store has both, so nothing in it can be altered. */
export function tokenOf({ key, policies, spent, id, ends }: MarkedSpending): string {
  const spends = spent.map(({ until, cost }, index) => [policies[index]!.name, until, cost]);
  const bytes = new TextEncoder().encode(JSON.stringify([1, key, id, ends, spent[0]!.at, spends]));
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (sign) => ({ '+': '-', '/': '_' })[sign] ?? '');
}

/** The names of the policies a token is about are looked up among these. */
export function spendingOf(token: unknown, policies: readonly Policy[]): MarkedSpending {
  const [version, key, id, ends, at, spends] = decoded(token);
  const isText = typeof key === 'string' && typeof id === 'string' && id.length <= MAX_ID;
  if (version !== 1 || !isText || !isMoment(ends) || !isMoment(at) || !Array.isArray(spends) || spends.length === 0) {
    throw invalidToken();
  }
  const found = spends.map((spend): { policy: Policy; spent: Spent } => {
    const [name, until, cost] = Array.isArray(spend) ? spend : [];
    if (typeof name !== 'string' || !isMoment(until) || !isMoment(cost)) throw invalidToken();
    const policy = policies.find((one) => one.name === name);
    if (policy !== undefined) return { policy, spent: { at, until, cost } };
    const names = policies.map((one) => one.name).join(', ');
    throw invalidOption(
      'settle(token)',
      `a hold under policies of this limiter: ${names}`,
      new Kind(`one under ${name}`),
    );
  });
  return { key, id, ends, policies: found.map(({ policy }) => policy), spent: found.map(({ spent }) => spent) };
}

export const MAX_ID = 256;

function decoded(token: unknown): unknown[] {
  try {
    const binary = atob((token as string).replace(/[-_]/g, (sign) => (sign === '-' ? '+' : '/')));
    const parsed: unknown = JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (sign) => sign.charCodeAt(0))));
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // As below.
  }
  throw invalidToken();
}

function isMoment(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function invalidToken(): SluiceError {
  return invalidOption('settle(token)', 'the token of a hold, as hold.token says it', new Kind('something else'));
}

/** A settlement that found no mark: too late, or for the second time. */
export function late<Told extends RateLimitResult>(told: Told, { ends }: MarkedSpending, path: string): boolean {
  if (decidedAt(told) >= ends) return true;
  throw alreadySettled(path, 'settled already, or lost with a server that failed or a store that was full');
}

export function alreadySettled(path: string, ended: string): SluiceError {
  return wrong(
    'SLUICE_HOLD_SETTLED',
    path,
    'a hold that is allowed and not settled yet',
    new Kind(`one that was ${ended}`),
  );
}
