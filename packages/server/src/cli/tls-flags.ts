/** The flags for TLS on both ports. They are read once: a new certificate takes a new start. */
import { createSecureContext } from 'node:tls';
import type { TlsFiles } from '../files/tls.ts';
import { type Arguments, type Flags, fileOf } from './command.ts';
import { UsageError } from './terminal.ts';

export const TLS_FLAGS = {
  'tls-cert': { type: 'string', variable: 'SLUICE_TLS_CERT' },
  'tls-key': { type: 'string', variable: 'SLUICE_TLS_KEY' },
  'tls-client-ca': { type: 'string', variable: 'SLUICE_TLS_CLIENT_CA' },
} as const satisfies Flags;

/** Undefined without these flags. A key that does not fit is found here, not by the first client. */
export async function tlsFiles(flags: Arguments): Promise<TlsFiles | undefined> {
  const [cert, key, clientCa] = await Promise.all(Object.keys(TLS_FLAGS).map((flag) => fileOf(flags, flag)));
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw new UsageError(
      `--tls-${cert === undefined ? 'cert' : 'key'}: expected a file; TLS takes --tls-cert and --tls-key`,
    );
  }
  try {
    createSecureContext({ cert, key, ca: clientCa });
  } catch (error) {
    throw new UsageError(`--tls-cert, --tls-key: cannot be used: ${(error as Error).message}`);
  }
  return { cert, key, clientCa };
}
