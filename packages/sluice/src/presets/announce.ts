/**
 * Two applications that keep limits on one Redis under the default prefix may share a count by accident. So each of them leaves its name beside
 * its policies, once, and whoever finds another name there is warned. An application is known by its package, or by the script it was
 * started with. With a prefix of one's own nothing is left and nothing is said: then sharing is meant.
 */
import { mistaken, type SluiceError } from '../model/errors.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { emitWarning } from '../model/runtime.ts';
import type { RunScript, Script } from '../redis/run-script.ts';
import { sha1 } from '../redis/sha1.ts';

const SOURCE = `local name = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', '86400000')
return name`;

interface Runtime {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>>; readonly argv?: readonly string[] };
}

function applicationName(): string | undefined {
  const { process } = globalThis as Runtime;
  return process?.env?.npm_package_name ?? process?.argv?.[1]?.replace(RELEASE, '/');
}

/** A folder of one release, by its number, date or commit: the next release is the same application. */
const RELEASE = /\/(v?\d[\d._-]*|[\da-f]{7,40})(?=\/)/g;

/** Runs in the background: that it fails says nothing that an attempt would not say. */
export function announcer(run: RunScript, prefix: string): (policies: readonly Policy[]) => void {
  const own = applicationName();
  let hasWarned = false;
  const announce = async (policy: Policy, script: Script): Promise<void> => {
    const found = await run(script, [`${prefix}:{%apps}${ruleOf(policy).identity}`], [own!]);
    const other = found === null || found === undefined || found === false ? own : String(found);
    if (other === own || hasWarned) return;
    hasWarned = true;
    emitWarning(sharedPrefix(policy, other!));
  };
  return (policies) => {
    if (own === undefined) return;
    const script = { source: SOURCE, sha1: sha1(SOURCE) };
    for (const policy of policies) announce(policy, script).catch(() => {});
  };
}

function sharedPrefix(policy: Policy, other: string): SluiceError {
  return mistaken(
    'SLUICE_SHARED_STATE',
    'redisStore.prefix',
    `Another application (${other}) keeps the limit "${policy.name}" on this Redis under the same prefix, so both count as one. Give redisStore a \`prefix\`: a different one in each application, or the same one if you want that.`,
  );
}
