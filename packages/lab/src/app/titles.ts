/** What the tab of the browser says. */
import { planOf } from '../model/stories/index.ts';
import { pageStory } from '../story/page-story.ts';
import type { Page } from './route.ts';

const TITLES: Readonly<Record<Page, string>> = {
  lab: 'Rate limiting algorithms side by side',
  choose: 'Which rate limiting algorithm?',
  backtest: 'Whom would a limit have hit?',
  live: 'What this server limits now',
};

export function titleOf(page: Page, parameters: URLSearchParams): string {
  const named = planOf(parameters.get('story') ?? parameters.get('embed'));
  const story = page === 'lab' ? (named ?? (parameters.size === 0 ? pageStory() : undefined)) : undefined;
  return `${story?.title ?? TITLES[page]} · Sluice`;
}
