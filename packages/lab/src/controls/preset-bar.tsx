/** The stories: one click each, and what to look for. */
import type { JSX } from 'preact';
import { useLab } from '../app/frames.ts';
import { PRESETS, presetOf } from '../presets/presets.ts';

export function PresetBar(): JSX.Element {
  const { lab } = useLab();
  const told = presetOf(lab.setup.preset ?? null);
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
            onClick={() => void lab.tell(preset)}
          >
            {preset.title}
          </button>
        ))}
      </div>
      <p class="story" aria-live="polite">
        {told?.story ?? 'Pick a story, or send requests of your own: every card gets the same ones at the same moment.'}
      </p>
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
