/** What the page expects of an answer is what the server sends: the types are compared when they are checked, so that neither can drift. */
import { expectTypeOf, test } from 'vitest';
import type { RawState as SentState } from '../../server/src/lab/engine.ts';
import type { LiveAnswer as SentAnswer } from '../../server/src/service/live-view.ts';
import type { RawState } from '../src/engine/engine.ts';
import type { LiveAnswer } from '../src/live/live-answer.ts';

test('the live view and the raw state of a card', () => {
  expectTypeOf<SentAnswer>().toExtend<LiveAnswer>();
  expectTypeOf<SentState>().toExtend<RawState>();
});
