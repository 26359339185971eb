/** Parameters in the query of a URL: each once, and none that is unknown. */
import { invalidField } from './http-error.ts';

export function refuseOthers(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (!known.includes(name)) throw invalidField(name.slice(0, 60), `one of ${known.join(', ')}`, 'no such parameter');
    // One of two may be the client's, appended by a gateway that does not look: nobody knows which is which.
    if (query.getAll(name).length > 1) throw invalidField(name, 'it once', 'it several times');
  }
}

/** A number where one is written; what is none stays a text, for whoever checks it to complain about. */
export function numberIn(query: URLSearchParams, name: string): number | string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return /^\d{1,16}(?:\.\d{1,9})?$/.test(text) ? Number(text) : text;
}
