/** What sends requests: by hand, and as traffic. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { MAX_BURST, MAX_COST, MAX_RATE } from '../setup/setup.ts';
import { TRAFFIC_IDEAS, TRAFFIC_KINDS, TRAFFIC_TITLES, type TrafficKind } from '../traffic/traffic.ts';
import { NumberField } from '../ui/number-field.tsx';
import { useLab } from '../view/frames.ts';
import { durationWords } from '../words/words.ts';

export function SendControls({ onSend }: { readonly onSend: (count: number) => void }): JSX.Element {
  const { lab } = useLab();
  const { setup } = lab;
  const [canBurst, setCanBurst] = useState(true);
  return (
    <div class="control-group send-group">
      <button type="button" class="button primary" title="Send a request to every row (S)" onClick={() => onSend(1)}>
        Send
      </button>
      <span class="joined">
        <button
          type="button"
          class="button"
          aria-label={`Burst ${setup.burst}`}
          title={`Send ${setup.burst} requests at the same moment (B)`}
          disabled={!canBurst}
          onClick={() => onSend(setup.burst)}
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
          onValid={setCanBurst}
        />
      </span>
      <NumberField
        label="cost"
        title="Units that each request spends"
        value={setup.cost}
        min={1}
        max={MAX_COST}
        onChange={(cost) => lab.change({ cost })}
      />
    </div>
  );
}

export function TrafficControls(): JSX.Element {
  const { lab } = useLab();
  const { kind, rate, seed } = lab.setup.traffic;
  const isMade = kind !== 'manual' && kind !== 'boundary';
  return (
    <div class="control-group traffic-group">
      <label class="inline-field">
        <span>traffic</span>
        <select
          class="select compact"
          value={kind}
          title={TRAFFIC_IDEAS[kind]}
          onChange={(event) => lab.changeTraffic({ kind: event.currentTarget.value as TrafficKind })}
        >
          {TRAFFIC_KINDS.map((name) => (
            <option key={name} value={name} title={TRAFFIC_IDEAS[name]}>
              {TRAFFIC_TITLES[name]}
            </option>
          ))}
        </select>
      </label>
      {isMade && (
        <NumberField
          label="Requests per window"
          hideLabel
          unit={`per ${durationWords(lab.limit.window)}`}
          value={rate}
          min={0.1}
          max={MAX_RATE}
          step={0.1}
          onChange={(changed) => lab.changeTraffic({ rate: changed })}
        />
      )}
      {kind === 'poisson' && (
        <NumberField
          label="seed"
          title="The same seed, the same requests"
          value={seed}
          min={0}
          max={2 ** 32 - 1}
          onChange={(changed) => lab.changeTraffic({ seed: changed })}
        />
      )}
    </div>
  );
}
