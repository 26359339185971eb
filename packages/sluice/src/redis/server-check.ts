/**
 * Is this server fit to keep limits? To be asked once, when a program starts. What is wrong comes back as a list, not as an exception:
 * limits work on such a server, but not as exactly as they should.
 *
 * It asks with `INFO`, which managed servers and access lists allow where they refuse `CONFIG`. In a cluster one node answers for all.
 */
import { SluiceError } from '../model/errors.ts';
import { checkFunction, type SendCommand } from './run-script.ts';

/**
 * When memory is full, these drop no state that is still needed, or that which is needed for the shortest time: every key of Sluice's has
 * a time to live. The others may drop any key, and with it what was spent.
 */
const FIT_POLICIES: readonly string[] = ['noeviction', 'volatile-ttl'];

export async function checkServer(send: SendCommand): Promise<SluiceError[]> {
  checkFunction(send, 'checkServer(send)', 'a function that sends a command');
  const memory = String(await send(['INFO', 'memory'], ''));
  const policy = fieldOf(memory, 'maxmemory_policy');
  // Without a limit nothing is ever dropped, whatever the policy.
  const isFit = policy === undefined || FIT_POLICIES.includes(policy) || fieldOf(memory, 'maxmemory') === '0';
  return isFit ? [] : [mayForget(policy)];
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

function mayForget(policy: string): SluiceError {
  return new SluiceError({
    code: 'SLUICE_FORGETFUL_SERVER',
    path: 'maxmemory-policy',
    expected: "noeviction or volatile-ttl, which keep what was spent when the server's memory is full",
    got: policy,
  });
}
