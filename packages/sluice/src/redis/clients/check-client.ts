/** The wrong client object is a common mistake, and without this an obscure one: it would fail at the first attempt, in production. */
import { SluiceError } from '../../model/errors.ts';

interface ClientShape {
  readonly expected: string;
  /** Methods the client must have, and methods only other clients have. */
  readonly has: readonly string[];
  readonly hasNot: readonly string[];
}

export function checkClient(client: unknown, { expected, has, hasNot }: ClientShape): void {
  const methods = client as Record<string, unknown> | null | undefined;
  const isMethod = (name: string): boolean => typeof methods?.[name] === 'function';
  if (has.every(isMethod) && !hasNot.some(isMethod)) return;
  throw new SluiceError({ code: 'SLUICE_INVALID_CLIENT', path: 'redisStore(client)', expected, got: client });
}
