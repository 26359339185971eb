/** What there is to say: a story's words and what one can do in it, or the verdict on what happened so far. */
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Lab } from '../lab/lab.ts';
import { planAfter, planOf } from '../model/stories/index.ts';
import { BEARABLE_DELAY } from '../model/stories/story.ts';
import { Icon } from '../ui/icons.tsx';
import { type Verdict, verdictOf } from '../verdict/verdict.ts';
import { READABLE, setText, useDraw, useLab } from '../view/frames.ts';
import { countdown } from '../words/words.ts';
import { tell } from './tell.ts';

export function Caption({ isCalledOut }: { readonly isCalledOut: boolean }): JSX.Element {
  const { lab } = useLab();
  return (
    <section class="caption" aria-label="What happens">
      {lab.player === undefined ? <VerdictLine /> : <StoryLine isCalledOut={isCalledOut} />}
    </section>
  );
}

/** While the words stand beside the row they are about, what the story is about stays here. */
function StoryLine({ isCalledOut }: { readonly isCalledOut: boolean }): JSX.Element {
  const { lab } = useLab();
  const player = lab.player!;
  const { beat, of } = player.place;
  const next = planAfter(player.story.id);
  return (
    <>
      <p class="caption-text" aria-live="polite" data-caption>
        <b class="caption-title">{player.story.title}</b>
        {lab.clients.length > 1 && <Clients lab={lab} />}
        <span class={lab.isOver ? 'point' : undefined}>{isCalledOut ? player.story.about : player.said.text}</span>
        {!isCalledOut && player.asked !== undefined && <Choices />}
        <Notice />
      </p>
      <div class="caption-actions">
        {!lab.isOver && (
          <span class="beats numeric" title={`Part ${beat} of ${of}`}>
            {beat}/{of}
          </span>
        )}
        <button type="button" class="button small" onClick={() => void lab.replay()}>
          <Icon name="replay" /> Replay
        </button>
        {lab.isOver ? (
          <button type="button" class="button small primary" onClick={() => void tell(lab, next)}>
            Next: {next.title}
          </button>
        ) : (
          lab.engine.isVirtual && (
            <button type="button" class="button small" onClick={() => void lab.nextBeat()}>
              Next <Icon name="next" />
            </button>
          )
        )}
      </div>
    </>
  );
}

/** Whose state the rows show. */
function Clients({ lab }: { readonly lab: Lab }): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out inline in every browser.
    <span class="segments tiny" role="group" aria-label="Client whose state the rows show">
      {lab.clients.map((name, client) => (
        <button key={name} type="button" aria-pressed={client === lab.client} onClick={() => lab.showClient(client)}>
          {name}
        </button>
      ))}
    </span>
  );
}

/** The answers to choose from, and the way on for those who do not want to guess. */
export function Choices(): JSX.Element {
  const { lab } = useLab();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out inline in every browser.
    <span class="choices" role="group" aria-label="Your guess">
      {lab.player!.asked!.choices.map((choice) => (
        <button key={choice} type="button" class="button small choice numeric" onClick={() => lab.choose(choice)}>
          {choice}
        </button>
      ))}
      <button type="button" class="button small quiet" onClick={() => lab.choose(undefined)}>
        Show me
      </button>
    </span>
  );
}

/** What to know about a story in real time: when it begins, and whether it was late enough for other counts than those it is told for. */
function Notice(): JSX.Element {
  const { lab } = useLab();
  const notice = useRef<HTMLSpanElement>(null);
  useDraw(() => setText(notice.current!, noticeOf(lab)), READABLE);
  return <span class="notice numeric" ref={notice} data-notice />;
}

function noticeOf({ story, engine, now, lateness }: Lab): string {
  if (story === undefined || engine.isVirtual) return '';
  if (now < story.start)
    return `In real time: it begins in ${countdown(story.start - now)}, with a window of the clock.`;
  if (lateness <= BEARABLE_DELAY) return '';
  return `Decided up to ${Math.round(lateness)} ms late, so counts next to an edge may differ. In the browser they never do.`;
}

/** How often the verdict is looked at: it is a sentence, and nobody reads two a second. */
const VERDICT_MS = 400;

function VerdictLine(): JSX.Element {
  const { lab } = useLab();
  const [verdict, setVerdict] = useState<Verdict>(() => verdictOf(lab));
  useDraw(() => {
    const next = verdictOf(lab);
    if (next.text !== verdict.text || next.suggestion?.label !== verdict.suggestion?.label) setVerdict(next);
  }, VERDICT_MS);
  const left = lab.hasLeftStory ? 'You sent requests of your own, so the story ends here. ' : '';
  // With the moment it is clicked at, not the one at which it was written.
  const run = (): void => void lab.sendLater(verdictOf(lab).suggestion?.arrivals ?? []);
  return (
    <>
      <p class="caption-text" aria-live="polite" data-verdict>
        {left}
        {verdict.text}
      </p>
      <div class="caption-actions">
        {verdict.suggestion !== undefined && (
          <button type="button" class="button small" data-suggestion onClick={run}>
            {verdict.suggestion.label}
          </button>
        )}
      </div>
    </>
  );
}

/** The story that an address asks for. */
export function planIn(parameters: URLSearchParams): ReturnType<typeof planOf> {
  return planOf(parameters.get('story') ?? parameters.get('embed'));
}
