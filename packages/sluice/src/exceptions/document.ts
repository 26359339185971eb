/**
 * Where exceptions are kept that several processes share: one document with a version. Reading it again costs next to nothing while the version is
 * the same; writing it takes the version that was read, so that no change is lost.
 */
import { Kind } from '../model/errors.ts';
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { invalidOption } from '../model/options.ts';
import { isObject } from '../model/policy.ts';
import type { SwapPort } from '../store/store-over.ts';
import { checkEntry, type ExceptionEntry } from './entry.ts';

/** The document as it was read. */
export interface DocumentRead {
  /** Tells one text from the next; undefined when there is no document. */
  readonly version: string | undefined;
  /** Undefined when the version is the one that was known already, or there is no document. */
  readonly text?: string | undefined;
}

/** Where the document is. `redisExceptions(runScript)` and `exceptionsOver(port)` make one. */
export interface ExceptionsPort {
  /** The document; without its text when it still has the version that is `known`. */
  read(known: string | undefined): MaybePromise<DocumentRead>;
  /** Writes the text under the version `next`, if what stands there is still `expected`, and says whether it did. Empty text: nothing is to stand there. */
  swap(text: string, next: string, expected: string | undefined): MaybePromise<boolean>;
  /** How a whole key is written in the document, such as by its hash. Default: as it is. */
  nameOf?(key: string): string;
}

export function checkPort(port: unknown, path: string): ExceptionsPort {
  const { read, swap } = (port ?? {}) as Partial<ExceptionsPort>;
  if (typeof read === 'function' && typeof swap === 'function') return port as ExceptionsPort;
  throw invalidOption(path, 'redisExceptions(runScript) or exceptionsOver(port)', Kind.of(port));
}

/** In this process alone. */
export function localPort(): ExceptionsPort {
  let version: string | undefined;
  let kept = '';
  return {
    read: (known) => (known === version ? { version } : { version, text: kept }),
    swap(text, next, expected) {
      if (expected !== version) return false;
      version = text === '' ? undefined : next;
      kept = text;
      return true;
    },
  };
}

const DOCUMENT_KEY = '%exceptions';
/** A century: the document has no end. */
const NO_END_MS = 36_525 * 86_400_000;

/**
 * Exceptions over any engine that can read a value and swap it: the port that `storeOver` takes.
 *
 * @example
 * const exceptions = sharedExceptions({ port: exceptionsOver(port) });
 */
export function exceptionsOver(port: SwapPort, options: { readonly prefix?: string | undefined } = {}): ExceptionsPort {
  const key = `${options.prefix ?? 'sluice:'}${DOCUMENT_KEY}`;
  // What the engine calls a version, by ours: only the latest is ever swapped.
  let last: { readonly version: string; readonly of: unknown } | undefined;
  return {
    read: (known) =>
      proceed(port.read(key), (stored) => {
        const text = stored?.value === undefined ? '' : new TextDecoder().decode(stored.value);
        if (text === '') {
          last = undefined;
          return { version: undefined };
        }
        const version = text.slice(0, VERSION_LENGTH);
        last = { version, of: stored!.version };
        return version === known ? { version } : { version, text: text.slice(VERSION_LENGTH) };
      }),
    swap(text, next, expected) {
      if (last?.version !== expected) return false;
      const value = text === '' ? undefined : new TextEncoder().encode(next + text);
      return port.swap(key, value, last?.of, NO_END_MS);
    },
  };
}

export const VERSION_LENGTH = 16;

/** None ever comes back. */
export function newVersion(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(VERSION_LENGTH / 2));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function textOf(entries: readonly ExceptionEntry[]): string {
  return entries.length === 0 ? '' : JSON.stringify({ format: 1, entries });
}

/** What cannot be read is an error and no empty list: then the last known one stays in force. */
export function entriesOf(text: string): readonly ExceptionEntry[] {
  if (text === '') return [];
  const document: unknown = JSON.parse(text);
  if (!isObject(document) || document.format !== 1 || !Array.isArray(document.entries)) {
    throw invalidOption('exceptions', 'a document of this version of Sluice', Kind.of(document));
  }
  return document.entries.map((entry, index) => checkEntry(entry, `exceptions[${index}]`));
}
