/** The flags for TLS on both ports. */
import type { TlsFiles, TlsPaths } from '../files/tls.ts';
import { readTls } from '../service/watch-tls.ts';
import type { Arguments, Flags } from './command.ts';
import { UsageError } from './terminal.ts';

export const TLS_FLAGS = {
  'tls-cert': { type: 'string', isFile: true, variable: 'SLUICE_TLS_CERT' },
  'tls-key': { type: 'string', isFile: true, variable: 'SLUICE_TLS_KEY' },
  'tls-client-ca': { type: 'string', isFile: true, variable: 'SLUICE_TLS_CLIENT_CA' },
} as const satisfies Flags;

/** Both undefined without these flags. */
export interface TlsOptions {
  readonly tls: TlsFiles | undefined;
  readonly tlsPaths: TlsPaths | undefined;
}

/** A key that does not fit is found here, not by the first client. */
export async function tlsOptions(flags: Arguments): Promise<TlsOptions> {
  const [cert, key, clientCa] = Object.keys(TLS_FLAGS).map((flag) => flags.text(flag));
  if (cert === undefined && key === undefined && clientCa === undefined) return { tls: undefined, tlsPaths: undefined };
  if (cert === undefined || key === undefined) {
    throw new UsageError(
      `--tls-${cert === undefined ? 'cert' : 'key'}: expected a file; TLS takes --tls-cert and --tls-key`,
    );
  }
  const tlsPaths = { cert, key, clientCa };
  const tls = await readTls(tlsPaths).catch((error: Error) => {
    throw new UsageError(error.message);
  });
  return { tls, tlsPaths };
}
