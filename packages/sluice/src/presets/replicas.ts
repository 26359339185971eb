/**
 * Answers once enough replicas have a decision (`WAIT`). A server holds back everything on a connection that waits, so attempts share a wait: at most
 * one is under way for each server. When replicas have not confirmed in time, that is known from then on: others are told immediately, and now and
 * then one attempt tries again.
 */
import { monotonicClock } from '../model/clock.ts';
import { parseDuration } from '../model/duration.ts';
import { Kind, mistaken, type SluiceError } from '../model/errors.ts';
import { checkCount, invalidOption } from '../model/options.ts';
import type { Connection } from '../redis/clients/connection.ts';
import type { RunScript, SendCommand } from '../redis/run-script.ts';
import type { WaitForReplicas } from './redis-store.ts';

const DEFAULT_WAIT = '100ms';
const RETRY_MS = 500;

/** Of one server. */
interface Replicas {
  /** What attempts are told while replicas do not confirm. */
  failure?: SluiceError | undefined;
  /** How often they did not confirm. */
  failures: number;
  retryAt: number;
  underWay?: Promise<unknown> | undefined;
  /** For those whose decision was made after the one that is under way was sent. */
  following?: Promise<unknown> | undefined;
}

export function waiting(
  run: RunScript,
  send: SendCommand,
  { canWait, nodeOf }: Connection,
  wait: WaitForReplicas | undefined,
): RunScript {
  if (wait === undefined) return run;
  const replicas = checkCount(wait.replicas, 'redisStore.wait.replicas');
  const timeoutMs = Math.ceil(parseDuration(wait.timeout ?? DEFAULT_WAIT, 'redisStore.wait.timeout'));
  if (!canWait)
    throw invalidOption(
      'redisStore.wait',
      'none: an ioredis Cluster cannot send WAIT to one of its servers',
      new Kind('one'),
    );
  const byNode = new Map<string, Replicas>();
  const confirm = (key: string): Promise<unknown> => send(['WAIT', String(replicas), String(timeoutMs)], key);
  return async (script, keys, args) => {
    const key = keys[0] ?? '';
    const node = replicasOf(byNode, nodeOf(key));
    refuseWhileAway(node);
    const { failures } = node;
    const reply = await run(script, keys, args);
    // Another attempt may have found out meanwhile.
    if (node.failure !== undefined && node.failures !== failures) throw node.failure;
    const confirmed = Number(await sharedWait(node, () => confirm(key)));
    node.failure = confirmed >= replicas ? undefined : notConfirmed(confirmed, replicas, timeoutMs);
    if (node.failure === undefined) return reply;
    node.failures += 1;
    node.retryAt = monotonicClock.now() + RETRY_MS;
    throw node.failure;
  };
}

/** Addresses come and go with failovers; more than this are not remembered. */
const MOST_NODES = 1024;

function replicasOf(byNode: Map<string, Replicas>, name: string): Replicas {
  const known = byNode.get(name);
  if (known !== undefined) return known;
  if (byNode.size >= MOST_NODES) byNode.clear();
  const node = { failures: 0, retryAt: 0 };
  byNode.set(name, node);
  return node;
}

/** One attempt may try again from time to time. */
function refuseWhileAway(node: Replicas): void {
  if (node.failure === undefined) return;
  const now = monotonicClock.now();
  if (now < node.retryAt) throw node.failure;
  node.retryAt = now + RETRY_MS;
}

function sharedWait(node: Replicas, confirm: () => Promise<unknown>): Promise<unknown> {
  if (node.underWay === undefined) {
    const done = (): void => {
      node.underWay = undefined;
    };
    node.underWay = confirm();
    node.underWay.then(done, done);
    return node.underWay;
  }
  if (node.following === undefined) {
    const next = (): Promise<unknown> => {
      node.following = undefined;
      return sharedWait(node, confirm);
    };
    node.following = node.underWay.then(next, next);
  }
  return node.following;
}

function notConfirmed(confirmed: number, replicas: number, timeoutMs: number): SluiceError {
  return mistaken(
    'SLUICE_TIMEOUT',
    'store',
    `Only ${confirmed} of ${replicas} replicas confirmed the decision within ${timeoutMs} ms. It was counted anyway.`,
  );
}
