/** The wrong client object is a common mistake, and without this an obscure one: it would fail at the first attempt, in production. */
import { Kind, wrong } from '../../model/errors.ts';

/** Each package by methods that only its clients have. */
const PACKAGES = {
  ioredis: ['call', 'defineCommand'],
  redis: ['sendCommand', 'withCommandOptions'],
  '@valkey/valkey-glide': ['customCommand'],
} as const;

export type ClientPackage = keyof typeof PACKAGES;

export function checkClient(client: unknown, of: ClientPackage, expected: string): void {
  const found = packageOf(client);
  if (found === of) return;
  throw wrong(
    'SLUICE_INVALID_CLIENT',
    'redisStore(client)',
    `${expected} of the '${of}' package`,
    found === undefined ? Kind.of(client) : new Kind(`a client of the '${found}' package`),
  );
}

function packageOf(client: unknown): ClientPackage | undefined {
  const methods = client as Record<string, unknown> | null | undefined;
  const names = Object.keys(PACKAGES) as ClientPackage[];
  return names.find((name) => PACKAGES[name].every((method) => typeof methods?.[method] === 'function'));
}
