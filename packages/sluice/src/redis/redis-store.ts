/**
 * The shared store: state in Redis or Valkey, decided by one Lua script on the server's clock. An attempt is at most one script call,
 * whatever the number of its policies; a denied one writes nothing; every key expires when it no longer means anything.
 */
import type { Clock } from '../model/clock.ts';
import { checkClock, readMicros } from '../model/clock.ts';
import type { Decision } from '../model/decision.ts';
import { historyOf } from '../model/history.ts';
import { checkOptionNames } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { decisionOf, resultOf, resultOfOne } from '../model/result.ts';
import { Step } from '../model/step.ts';
import type { Answer, Attempt, Change, Changes, Check, Forget, History, Place, Store } from '../model/store.ts';
import { answerLike, checksOf, noHistory } from '../model/store.ts';
import { decideAcross } from '../store/across-keys.ts';
import { answersOf, type BatchOptions, batchedAttempts } from './batch.ts';
import { type KeyNamer, type KeyOptions, keyNamer, markNamer } from './keys.ts';
import { refusalOf } from './refusals.ts';
import { checkRunner, type RunScript, type Script } from './run-script.ts';
import { FORGET, singleScript } from './scripts.ts';
import { slotOf } from './slot.ts';
import {
  type Ask,
  argsOf,
  callOf,
  changeCall,
  groupOf,
  readChanges,
  readHistory,
  redisRule,
  type Special,
} from './wire.ts';

/** What `redisStoreOver` takes besides the way to run a script. */
export interface RedisStoreOptions extends KeyOptions {
  /** For tests and simulations. Without it the server's own clock decides, which all processes share. */
  readonly clock?: Clock | undefined;
}

/** Right for every client, though not the fastest for any. */
const CAREFUL: BatchOptions = { most: 32, bySlot: true };

/**
 * The bare store over any way to run a script: it waits as long as that does, and rejects when that does. `redisStore` of `sluice/ioredis` and
 * its like puts the layers around it that keep answering.
 */
export function redisStoreOver(
  run: RunScript,
  options: RedisStoreOptions = {},
  batches: BatchOptions = CAREFUL,
  place: Place = { isShared: true },
): Store {
  checkOptionNames(options, ['prefix', 'hashKeys', 'clock'], 'redisStore');
  checkRunner(run, 'redisStoreOver(run)', 'a function that runs a script, such as scriptRunner(send) makes it');
  const clock = options.clock === undefined ? undefined : checkClock(options.clock, 'redisStore.clock');
  return redisStates(run, keyNamer(options), markNamer(options), clock, batches, place);
}

function redisStates(
  run: RunScript,
  nameOf: KeyNamer,
  markOf: (key: string, id: string) => string,
  clock: Clock | undefined,
  batches: BatchOptions,
  place: Place,
): Store {
  const attemptSoon = batchedAttempts(run, batches);
  /** '' for the server's own clock. */
  const now = (): string => (clock === undefined ? '' : String(readMicros(clock)));

  /** A supplied clock may move between two attempts of one turn, so there each goes by itself. */
  const decided = (ask: Ask, special?: Special): Promise<Answer> =>
    special !== undefined || clock !== undefined ? attemptAt(run, ask, now(), special) : attemptSoon(ask);

  const attempt = (question: Attempt): Promise<Answer> => {
    const { key, dryRun, least, mark } = question;
    if (mark !== undefined || least !== undefined) {
      const named = mark && { name: markOf(key, mark.id), ttl: mark.ttl };
      return decided(askOf(question, nameOf), { dryRun, least, mark: named });
    }
    if (batches.bySlot && question.and.length > 0) {
      const groups = groupsBySlot(checksOf(question), nameOf);
      if (groups.length > 1) return decideAcross(store, question, groups);
    }
    return decided(askOf(question, nameOf), dryRun ? { dryRun } : undefined);
  };

  const change = async (question: Changes): Promise<Answer> => {
    const { changes, settles } = question;
    const release = settles === undefined ? releaseOf(changes, nameOf) : undefined;
    if (release !== undefined) return decided(release);
    const { script, args } = changeCall(question, now());
    const keys = changes.map(({ key, policy }) => nameOf(key, policy));
    if (settles !== undefined) keys.unshift(markOf(changes[0]!.key, settles.id));
    return readChanges(await run(script, keys, args), question);
  };

  const forget = async ({ key, policies }: Forget): Promise<Answer> => {
    const keys = policies.map((policy) => nameOf(key, policy));
    const reply = await run(FORGET, keys, []);
    const at = clock === undefined ? Number(reply) : readMicros(clock);
    return resultOf(policies.map(unspentAt(at)), 'store');
  };

  const store: Store = {
    place,
    ask(question) {
      switch (question.verb) {
        case 'attempt':
          return attempt(question);
        case 'change':
          return change(question);
        case 'forget':
          return forget(question);
        case 'history':
          return history(run, question, now(), nameOf);
      }
    },
  };
  return store;
}

/** In a call of its own. */
async function attemptAt(run: RunScript, ask: Ask, now: string, special?: Special): Promise<Answer> {
  const { script, keys, args, read } = callOf([ask], now, special);
  const { now: at, each, mark, granted } = read(await run(script, keys, args));
  const [verdicts] = each;
  if (verdicts === undefined || verdicts instanceof Error) throw refusalOf(verdicts, true) ?? verdicts;
  const answer = answersOf(ask, at, verdicts);
  return answerLike({ mark, granted: special?.least === undefined ? undefined : granted }, answer);
}

async function history(
  run: RunScript,
  { key, policy, after, most }: History,
  now: string,
  nameOf: KeyNamer,
): Promise<Answer> {
  const { script, args } = historyCall(policy, now, after, most);
  const { look, listed } = readHistory(await run(script, [nameOf(key, policy)], args), policy);
  return { ...resultOfOne(look, 'store'), history: historyOf(listed) };
}

function historyCall(policy: Policy, now: string, after: number, most: number): { script: Script; args: string[] } {
  const rule = redisRule(ruleOf(policy));
  if (rule.redis!.history === undefined) throw noHistory(policy);
  const since = Number.isFinite(after) ? String(after) : '-1';
  return { script: singleScript('history', rule), args: [now, ...argsOf(rule, now), since, String(most)] };
}

/** What a look sees of a key under which nothing is spent. */
function unspentAt(now: number): (policy: Policy) => Decision {
  const look = new Step();
  return (policy) => {
    const rule = ruleOf(policy);
    rule.transition(undefined, now, 0, look);
    return decisionOf(rule, now, look);
  };
}

/** How an attempt is asked of the scripts. That under one policy is the common case, and made without lists of policies. */
function askOf(question: Attempt, nameOf: KeyNamer): Ask {
  if (question.and.length === 0) {
    const rules = [redisRule(ruleOf(question.policy))];
    return { group: groupOf(rules), rules, keys: [nameOf(question.key, question.policy)], costs: [question.cost] };
  }
  const checks = checksOf(question);
  const rules = checks.map(({ policy }) => redisRule(ruleOf(policy)));
  return {
    group: groupOf(rules),
    rules,
    keys: checks.map(({ key, policy }) => nameOf(key, policy)),
    costs: checks.map(({ cost }) => cost),
  };
}

/** A spend that lasts until it is given back is most often given back, so those go out together as attempts do. */
function releaseOf([change, ...others]: readonly Change[], nameOf: KeyNamer): Ask | undefined {
  if (change === undefined || others.length > 0) return undefined;
  const { key, policy, verb } = change;
  if (verb !== 'refund' && verb !== 'extend') return undefined;
  const rule = redisRule(ruleOf(policy));
  if (rule.redis!.release === undefined || change.spent === undefined) return undefined;
  const costs = verb === 'refund' ? [change.cost] : NO_COSTS;
  return {
    group: `release ${groupOf([rule])}`,
    rules: [rule],
    keys: [nameOf(key, policy)],
    costs,
    permit: change.spent.until,
    isExtended: verb === 'extend',
  };
}

const NO_COSTS: readonly number[] = [];

/** All policies of one key share its slot, so only attempts on several keys can have several. */
function groupsBySlot(checks: readonly Check[], nameOf: KeyNamer): readonly (readonly number[])[] {
  const isOneKey = checks.every(({ key }) => key === checks[0]!.key);
  const groups = new Map<number, number[]>();
  for (const [index, { key, policy }] of checks.entries()) {
    const slot = isOneKey ? 0 : slotOf(nameOf(key, policy));
    groups.set(slot, [...(groups.get(slot) ?? []), index]);
  }
  return [...groups.values()];
}
