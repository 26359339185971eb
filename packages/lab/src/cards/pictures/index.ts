/** The picture of each card. */
import type { CardId } from '../catalog.ts';
import { fixedWindowPicture } from './fixed-window.ts';
import { gcraPicture } from './gcra.ts';
import { leakyBucketPolicingPicture } from './leaky-bucket-policing.ts';
import { leakyBucketShapingPicture } from './leaky-bucket-shaping.ts';
import type { Picture } from './picture.ts';
import { slidingWindowCounterPicture } from './sliding-window-counter.ts';
import { slidingWindowLogPicture } from './sliding-window-log.ts';
import { tokenBucketPicture } from './token-bucket.ts';

export const PICTURES: Readonly<Record<CardId, Picture>> = {
  'fixed-window': fixedWindowPicture,
  'sliding-window-log': slidingWindowLogPicture,
  'sliding-window-counter': slidingWindowCounterPicture,
  'token-bucket': tokenBucketPicture,
  'leaky-bucket-policing': leakyBucketPolicingPicture,
  'leaky-bucket-shaping': leakyBucketShapingPicture,
  gcra: gcraPicture,
};
