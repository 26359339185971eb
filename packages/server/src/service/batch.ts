/** One question or a list of them. In a list each is answered by itself: one that is wrong does not keep the others from an answer. */
import type { MaybePromise } from 'sluice/store';
import { type ErrorBody, errorBody, invalidField, toHttpError } from './http-error.ts';
import type { Verb, VerbContext } from './verbs.ts';

export const MAX_ITEMS = 256;

/** `onError` is told of what nobody foresaw, which in a list does not become the response's status. */
export function answerAll(
  verb: Verb,
  body: unknown,
  context: VerbContext,
  onError: (error: unknown) => void,
): MaybePromise<object> {
  if (!Array.isArray(body)) return verb(body, '', context);
  if (body.length === 0 || body.length > MAX_ITEMS) {
    throw invalidField('body', `an object, or a list of 1 to ${MAX_ITEMS}`, `a list of ${body.length}`);
  }
  const answer = async (item: unknown, index: number): Promise<object> => {
    try {
      return await verb(item, `[${index}].`, context);
    } catch (error) {
      onError(error);
      return inItem(index, errorBody(toHttpError(error)));
    }
  };
  return Promise.all(body.map(answer));
}

/** What the library refuses does not know that it was in a list. */
function inItem(index: number, body: ErrorBody): ErrorBody {
  return body.path === undefined || body.path.startsWith('[') ? body : { ...body, path: `[${index}].${body.path}` };
}
