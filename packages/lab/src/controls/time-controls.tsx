/** What moves time: play, step, speed, and the way back from looking back. */
import type { JSX } from 'preact';
import { MAX_SPEED, MIN_SPEED } from '../setup/setup.ts';
import { Icon } from '../ui/icons.tsx';
import { useLab } from '../view/frames.ts';
import { clockTime, durationWords } from '../words/words.ts';

export function TimeControls(): JSX.Element {
  const { lab } = useLab();
  const { playing, engine, setup } = lab;
  const pause = engine.isVirtual ? 'Pause (space)' : 'Pause what is shown (space); the clock of the server goes on';
  return (
    <div class="control-group time-group">
      <button
        type="button"
        class="button icon"
        aria-label={playing ? 'Pause' : 'Play'}
        title={playing ? pause : 'Play (space)'}
        onClick={() => (playing ? lab.pause() : lab.play())}
      >
        <Icon name={playing ? 'pause' : 'play'} />
      </button>
      <button
        type="button"
        class="button icon"
        aria-label="Step to the next request"
        title="Step to the next request (→)"
        disabled={!engine.isVirtual}
        onClick={() => void lab.step()}
      >
        <Icon name="step" />
      </button>
      <label class="inline-field speed" title={speedTitle(lab.limit.window, setup.speed)}>
        <span class="visually-hidden">Speed</span>
        <input
          type="range"
          min={Math.log10(MIN_SPEED)}
          max={Math.log10(MAX_SPEED)}
          step={0.05}
          value={Math.log10(setup.speed)}
          disabled={!engine.isVirtual}
          aria-valuetext={`${setup.speed} times`}
          onInput={(event) => lab.change({ speed: roundSpeed(10 ** Number(event.currentTarget.value)) })}
        />
        <output class="numeric">{engine.isVirtual ? `${setup.speed}×` : 'real time'}</output>
      </label>
      {lab.viewed !== undefined && (
        <p class="looking" role="status">
          <span>
            Looking at <b class="numeric">{clockTime(lab.viewed)}</b>
          </span>
          <button type="button" class="button small" onClick={() => lab.look(undefined)}>
            Back to now (Esc)
          </button>
        </p>
      )}
    </div>
  );
}

function speedTitle(window: number, speed: number): string {
  return `At 1× a window of ${durationWords(window)} lasts 10 s; now it lasts ${Math.round(100 / speed) / 10} s`;
}

/** Two digits are enough, and 1 is easy to hit. */
function roundSpeed(speed: number): number {
  const rounded = Number(speed.toPrecision(2));
  return Math.abs(rounded - 1) < 0.06 ? 1 : rounded;
}
