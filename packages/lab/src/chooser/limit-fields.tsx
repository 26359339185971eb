/** How much is to be allowed, and how much of it at the same moment. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { usualBurst } from '../model/choose/recommend.ts';
import { readField } from '../model/field-text.ts';
import type { SharedLimit } from '../model/limit.ts';
import { count, durationWords } from '../words/words.ts';

const WINDOWS: readonly { readonly ms: number; readonly label: string }[] = [
  { ms: 1_000, label: 'second' },
  { ms: 10_000, label: '10 seconds' },
  { ms: 60_000, label: 'minute' },
  { ms: 900_000, label: '15 minutes' },
  { ms: 3_600_000, label: 'hour' },
  { ms: 86_400_000, label: 'day' },
];

const MOST = 1_000_000;

export interface LimitFieldsProps {
  readonly limit: SharedLimit;
  readonly hasBurst: boolean;
  readonly onChange: (limit: SharedLimit) => void;
}

export function LimitFields({ limit, hasBurst, onChange }: LimitFieldsProps): JSX.Element {
  const [text, setText] = useState({ units: String(limit.units), burst: String(limit.burst) });
  const hasProblem = countOf(text.units) === undefined || (hasBurst && countOf(text.burst) === undefined);
  const changeUnits = (written: string): void => {
    const units = countOf(written);
    const burst = units === undefined ? limit.burst : usualBurst(units);
    setText({ units: written, burst: String(burst) });
    if (units !== undefined) onChange({ ...limit, units, burst });
  };
  const changeBurst = (written: string): void => {
    setText({ ...text, burst: written });
    const burst = countOf(written);
    if (burst !== undefined) onChange({ ...limit, burst });
  };
  const windows = WINDOWS.some(({ ms }) => ms === limit.window)
    ? WINDOWS
    : [...WINDOWS, { ms: limit.window, label: durationWords(limit.window) }];
  return (
    <fieldset class="amount">
      <legend>Your limit</legend>
      <CountField id="amount-units" label="Allow" text={text.units} onText={changeUnits} />
      <div class="field">
        <label for="amount-window">per</label>
        <select
          id="amount-window"
          class="select"
          value={limit.window}
          onChange={(event) => onChange({ ...limit, window: Number(event.currentTarget.value) })}
        >
          {windows.map(({ ms, label }) => (
            <option key={ms} value={ms}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {hasBurst && <CountField id="amount-burst" label="at the same moment" text={text.burst} onText={changeBurst} />}
      {hasProblem && (
        <small id="amount-problem" class="problem" role="alert">
          Write a whole number from 1 to {count(MOST)}.
        </small>
      )}
    </fieldset>
  );
}

function CountField(props: {
  readonly id: string;
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}): JSX.Element {
  const isValid = countOf(props.text) !== undefined;
  return (
    <div class="field">
      <label for={props.id}>{props.label}</label>
      <input
        id={props.id}
        class="input"
        inputMode="numeric"
        autocomplete="off"
        value={props.text}
        aria-invalid={!isValid}
        aria-describedby={isValid ? undefined : 'amount-problem'}
        onInput={(event) => props.onText(event.currentTarget.value)}
      />
    </div>
  );
}

function countOf(text: string): number | undefined {
  const reading = readField('count', text);
  return 'value' in reading && Number(reading.value) <= MOST ? Number(reading.value) : undefined;
}
