/** Answers that may have come already. */
import type { MaybePromise } from 'sluice';

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function';
}
