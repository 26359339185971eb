/** The stories: one click each, and what to look for. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { READABLE, useDraw, useLab } from '../app/frames.ts';
import { countdown } from '../canvas/words.ts';
import { setText } from '../cards/card.tsx';
import type { Lab } from '../engine/lab.ts';
import { BEARABLE_DELAY, PRESETS, presetOf } from '../presets/presets.ts';
import { tell } from '../presets/tell.ts';

export function PresetBar(): JSX.Element {
  const { lab } = useLab();
  const told = presetOf(lab.setup.preset ?? null);
  const notice = useRef<HTMLParagraphElement>(null);
  useDraw(() => setText(notice.current!, noticeOf(lab)), READABLE);
  return (
    <section class="presets" aria-label="Stories">
      <div class="preset-list">
        {PRESETS.map((preset) => (
          <button
            key={preset.id}
            type="button"
            class="preset"
            aria-pressed={preset.id === told?.id}
            data-preset={preset.id}
            onClick={() => void tell(lab, preset)}
          >
            {preset.title}
          </button>
        ))}
      </div>
      <p class="story" aria-live="polite">
        {told?.story ?? 'Pick a story, or send requests of your own: every card gets the same ones at the same moment.'}
      </p>
      <p class="notice numeric" ref={notice} data-notice />
      {lab.clients.length > 1 && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out inline in every browser.
        <div class="segments" role="group" aria-label="Client whose state the cards show">
          {lab.clients.map((name, client) => (
            <button key={name} type="button" aria-pressed={client === lab.client} onClick={() => lab.show(client)}>
              {name}
            </button>
          ))}
        </div>
      )}
    </section>
  );
}

/** What to know about a story in real time: when it begins, and whether it was late enough for other counts than those it is told for. */
function noticeOf({ story, engine, now, lateness }: Lab): string {
  if (story === undefined || engine.isVirtual) return '';
  if (now < story.start) return `In real time: it begins in ${countdown(story.start - now)}, by a window of the clock.`;
  if (lateness <= BEARABLE_DELAY) return '';
  return `Decided up to ${Math.round(lateness)} ms late, so counts next to an edge may differ. In the browser they never do.`;
}
