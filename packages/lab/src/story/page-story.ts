/** The story a page is about: a static page of its own says so, as crawlers read no hashes. */
import { planOf } from '../model/stories/index.ts';
import type { Plan } from '../model/stories/story.ts';

/** From `<meta name="sluice-story" content="boundary-burst">`. */
export function pageStory(): Plan | undefined {
  return planOf(document.querySelector<HTMLMetaElement>('meta[name="sluice-story"]')?.content);
}
