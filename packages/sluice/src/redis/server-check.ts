/**
 * Is this server fit to keep limits? To be asked once, when a program starts. What is wrong comes back as a list, not as an exception:
 * limits work on such a server, but not as exactly as they should.
 *
 * It asks with `INFO`, which managed servers and access lists allow where they refuse `CONFIG`. In a cluster one node answers for all.
 */
import { mistaken, type SluiceError } from '../model/errors.ts';
import { checkRunner, type SendCommand } from './run-script.ts';

/**
 * When memory is full, only this one drops no state that is still needed. `volatile-ttl` drops what expires soonest: a flood under a daily quota
 * would evict login limits and blocks.
 */
const FIT_POLICY = 'noeviction';

/** Asks a server whether it may drop limits before their time (`maxmemory-policy`), and gives a list of warnings. Empty: all is well. */
export async function checkServer(send: SendCommand): Promise<SluiceError[]> {
  checkRunner(send, 'checkServer(send)', 'a function that sends a command');
  const memory = String(await send(['INFO', 'memory'], ''));
  const policy = fieldOf(memory, 'maxmemory_policy');
  // Without a limit nothing is ever dropped, whatever the policy.
  const isFit = policy === undefined || policy === FIT_POLICY || fieldOf(memory, 'maxmemory') === '0';
  return isFit ? [] : [mayForget(policy)];
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

function mayForget(policy: string): SluiceError {
  return mistaken(
    'SLUICE_FORGETFUL_SERVER',
    'maxmemory-policy',
    `When its memory is full, this server drops keys that still count (maxmemory-policy ${policy}), and with them limits and blocks. Set maxmemory-policy to noeviction.`,
  );
}
