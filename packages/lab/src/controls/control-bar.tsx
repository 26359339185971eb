/** Everything that sends requests or moves time. */
import type { JSX } from 'preact';
import { useLab } from '../app/frames.ts';
import { MAX_BURST, MAX_COST, MAX_RATE, MAX_SPEED, MIN_SPEED } from '../share/share.ts';
import { TRAFFIC_IDEAS, TRAFFIC_KINDS, TRAFFIC_TITLES, type TrafficKind } from '../traffic/traffic.ts';
import { describeLast } from './announcer.ts';
import { NumberField } from './number-field.tsx';

export function ControlBar(props: { readonly say: (words: string) => void; readonly share: JSX.Element }): JSX.Element {
  const { lab } = useLab();
  const { setup, playing, engine } = lab;
  const send = (count: number): void =>
    void lab.send(count).then(() => {
      if (lab.trace.length > 0) props.say(describeLast(lab, count));
    });
  return (
    <section class="controls panel" aria-label="Controls">
      <div class="control-group">
        <button type="button" class="button primary" onClick={() => send(1)}>
          Send request
        </button>
        <span class="joined">
          <button
            type="button"
            class="button"
            aria-label={`Burst ${setup.burst}`}
            title={`${setup.burst} requests at one instant`}
            onClick={() => send(setup.burst)}
          >
            Burst
          </button>
          <NumberField
            label="Requests in a burst"
            hideLabel
            value={setup.burst}
            min={1}
            max={MAX_BURST}
            onChange={(burst) => lab.change({ burst })}
          />
        </span>
      </div>
      <div class="control-group">
        <NumberField label="cost" value={setup.cost} min={1} max={MAX_COST} onChange={(cost) => lab.change({ cost })} />
        <label class="inline-field">
          <span>traffic</span>
          <select
            class="select"
            value={setup.traffic.kind}
            title={TRAFFIC_IDEAS[setup.traffic.kind]}
            onChange={(event) => lab.changeTraffic({ kind: event.currentTarget.value as TrafficKind })}
          >
            {TRAFFIC_KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {TRAFFIC_TITLES[kind]}
              </option>
            ))}
          </select>
        </label>
        {setup.traffic.kind !== 'manual' && setup.traffic.kind !== 'boundary' && (
          <NumberField
            label="a second"
            after
            value={setup.traffic.rate}
            min={0.1}
            max={MAX_RATE}
            step={0.1}
            onChange={(rate) => lab.changeTraffic({ rate })}
          />
        )}
        {setup.traffic.kind === 'poisson' && (
          <NumberField
            label="seed"
            value={setup.traffic.seed}
            min={0}
            max={2 ** 32 - 1}
            onChange={(seed) => lab.changeTraffic({ seed })}
          />
        )}
      </div>
      <div class="control-group">
        <button
          type="button"
          class="button icon"
          aria-label={playing ? 'Pause' : 'Play'}
          title={playing ? 'Pause' : 'Play'}
          onClick={() => (playing ? lab.pause() : lab.play())}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            {playing ? <path d="M8 5v14M16 5v14" /> : <path d="M7 4.5v15l12-7.5Z" fill="currentColor" />}
          </svg>
        </button>
        <button
          type="button"
          class="button icon"
          aria-label="Step to the next request"
          title="Step to the next request"
          disabled={!engine.isVirtual}
          onClick={() => void lab.step()}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M6 5.5v13l9-6.5Z" fill="currentColor" />
            <path d="M18.5 5v14" />
          </svg>
        </button>
        <label class="inline-field speed">
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
      </div>
      <div class="control-group end">
        {props.share}
        <button
          type="button"
          class="button"
          onClick={() => void lab.reset().then(() => props.say('All counters are reset.'))}
        >
          Reset all counters
        </button>
      </div>
    </section>
  );
}

/** Two digits are enough, and 1 is easy to hit. */
function roundSpeed(speed: number): number {
  const rounded = Number(speed.toPrecision(2));
  return Math.abs(rounded - 1) < 0.06 ? 1 : rounded;
}
