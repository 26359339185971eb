/**
 * Certificates change every few weeks, and nobody restarts a server for that. It looks at the files twice a second, as at the config, which also
 * sees the link that Kubernetes turns. What cannot be used changes nothing: the old certificate stays, and the log says why.
 */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { MaybePromise } from 'sluice/store';
import type { TlsFiles, TlsPaths } from '../files/tls.ts';
import type { Watch } from './watch-config.ts';

export interface WatchingTls {
  readonly paths: TlsPaths;
  /** What is shown now. */
  readonly tls: TlsFiles;
  readonly intervalMs?: number | undefined;
  onChange(tls: TlsFiles): MaybePromise<void>;
  /** Called once for each change, with a sentence. */
  onProblem(problem: string): void;
}

const INTERVAL_MS = 500;

export function watchTls({ paths, tls, intervalMs = INTERVAL_MS, onChange, onProblem }: WatchingTls): Watch {
  let last = JSON.stringify(tls);
  let suspect: string | undefined;
  const look = async (): Promise<void> => {
    const found = await settled(paths, last);
    if (found === undefined || found.text === last) return;
    const problem = found.problem ?? problemOf(found.files!);
    // A key that does not fit may be one of two files that change one after the other: the next look decides.
    if (problem !== undefined && found.text !== suspect) {
      suspect = found.text;
      return;
    }
    last = found.text;
    if (problem === undefined) await onChange(found.files!);
    else onProblem(problem);
  };
  const timer = setInterval(() => void look(), intervalMs).unref();
  return { reload: look, stop: () => clearInterval(timer) };
}

interface Found {
  /** What tells one look from another. */
  readonly text: string;
  readonly files?: TlsFiles;
  readonly problem?: string;
}

/** Files that change while they are read are left to the next look. */
async function settled(paths: TlsPaths, last: string): Promise<Found | undefined> {
  const found = await foundAt(paths);
  if (found.text === last) return found;
  const again = await foundAt(paths);
  return again.text === found.text ? found : undefined;
}

async function foundAt(paths: TlsPaths): Promise<Found> {
  try {
    const files = await filesAt(paths);
    return { text: JSON.stringify(files), files };
  } catch (error) {
    const { message } = error as Error;
    return { text: message, problem: message };
  }
}

/** Rejects with a sentence that names the flag. */
export async function readTls(paths: TlsPaths): Promise<TlsFiles> {
  const files = await filesAt(paths);
  try {
    createSecureContext(contextOf(files));
  } catch (error) {
    throw new Error(`--tls-cert, --tls-key: cannot be used: ${(error as Error).message}`);
  }
  return files;
}

async function filesAt({ cert, key, clientCa }: TlsPaths): Promise<TlsFiles> {
  const read = (flag: string, file: string): Promise<string> =>
    readFile(file, 'utf8').catch((error: Error) => {
      throw new Error(`--tls-${flag}: cannot be read: ${error.message}`);
    });
  const [certText, keyText, caText] = await Promise.all([
    read('cert', cert),
    read('key', key),
    clientCa === undefined ? undefined : read('client-ca', clientCa),
  ]);
  return { cert: certText, key: keyText, clientCa: caText };
}

/** As Node takes it. */
export function contextOf({ cert, key, clientCa: ca }: TlsFiles) {
  return { cert, key, ...(ca === undefined ? {} : { ca }) };
}

/** In a sentence. A certificate that has ended would turn every client away, so the one that is shown stays, which may still be good. */
function problemOf(files: TlsFiles): string | undefined {
  try {
    createSecureContext(contextOf(files));
    const endsAt = certificateEnd(files);
    return endsAt * 1e3 > Date.now() ? undefined : `The certificate ended at ${new Date(endsAt * 1e3).toISOString()}.`;
  } catch (error) {
    return `The certificate and the key cannot be used: ${(error as Error).message}`;
  }
}

/** Unix time in seconds. */
export function certificateEnd({ cert }: TlsFiles): number {
  return Math.floor(Date.parse(new X509Certificate(cert).validTo) / 1e3);
}
