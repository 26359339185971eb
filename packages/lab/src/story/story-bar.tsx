/** The stories, one click each. */
import type { JSX } from 'preact';
import { PLANS } from '../model/stories/index.ts';
import { useLab } from '../view/frames.ts';
import { tell } from './tell.ts';

export function StoryBar(): JSX.Element {
  const { lab } = useLab();
  return (
    <nav class="story-bar" aria-label="Stories">
      <span class="eyebrow">Stories</span>
      {PLANS.map((plan) => (
        <button
          key={plan.id}
          type="button"
          class="pill"
          aria-pressed={plan.id === lab.story?.id}
          data-story={plan.id}
          title={plan.description}
          onClick={() => void tell(lab, plan)}
        >
          {plan.title}
        </button>
      ))}
    </nav>
  );
}
