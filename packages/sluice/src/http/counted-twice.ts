/**
 * Two gates over one limit in one chain count each request twice, and so does one gate that is installed twice. It is noticed by the
 * request: a chain that counts twice does so from its first request on, so there is no need to watch for ever.
 */
import type { Mistake } from '../model/errors.ts';
import type { Warn } from '../model/warnings.ts';
import type { RequestView } from './request-view.ts';

interface Counted {
  readonly key: string;
  /** Which gate counted. */
  readonly by: object;
}

/** For each limit, what was counted of which request. */
const countedBy = new WeakMap<object, WeakMap<object, Counted>>();
const WATCHED_REQUESTS = 1000;

/** `limit` is one object for all limiters that share one state. The function is to be called before each attempt. */
export function watchCounting(limit: object, warn: Warn): (view: RequestView, key: string) => void {
  const counted = countedBy.get(limit) ?? new WeakMap<object, Counted>();
  countedBy.set(limit, counted);
  const by = {};
  let left = WATCHED_REQUESTS;
  return (view, key) => {
    if (left === 0) return;
    left--;
    const request = view.exchange ?? nativeOf(view);
    const before = counted.get(request);
    // The same gate and an object that is all we know of the request: it may be used again, as tests do with their fixtures.
    const isAgain = before?.by === by && view.exchange === undefined;
    if (before?.key === key && !isAgain) warn(COUNTED_TWICE);
    counted.set(request, { key, by });
  };
}

function nativeOf(view: RequestView): object {
  return typeof view.native === 'object' && view.native !== null ? view.native : view;
}

const COUNTED_TWICE: Mistake = {
  code: 'SLUICE_COUNTED_TWICE',
  path: 'gate.limiter',
  message:
    'One request was counted twice for one key: two rate limits spend from the same state, so neither of them holds as it is written. ' +
    'Install the limit once, or give the policies of two limits different names.',
};
