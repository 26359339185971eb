/** A number in a small box, as wide as its digits: what is typed counts as soon as it may be, and what may not be is said. */
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { count } from '../words/words.ts';

export function NumberField(props: {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  readonly hideLabel?: boolean;
  /** What stands behind the number, as a unit does. */
  readonly unit?: string;
  readonly title?: string;
  readonly onChange: (value: number) => void;
  /** Called with whether what is typed counts. */
  readonly onValid?: (isValid: boolean) => void;
}): JSX.Element {
  const { label, value, min, max, step = 1, hideLabel, unit, onChange, onValid } = props;
  const [text, setText] = useState(String(value));
  const id = useId();
  const counts = (typed: string): boolean => {
    const number = Number(typed);
    return typed.trim() !== '' && number >= min && number <= max && (step < 1 || Number.isInteger(number));
  };
  const isValid = counts(text);
  /** At once, not after the next frame: whoever goes on to another field at once has typed this one all the same. */
  const take = (typed: string): void => {
    setText(typed);
    if (counts(typed) && Number(typed) !== value) onChange(Number(typed));
  };
  useEffect(() => setText((shown) => (Number(shown) === value ? shown : String(value))), [value]);
  useEffect(() => onValid?.(isValid), [isValid]);
  return (
    <label class="inline-field" title={props.title}>
      <span class={hideLabel ? 'visually-hidden' : undefined}>{label}</span>
      <input
        class="input compact number"
        inputMode={step < 1 ? 'decimal' : 'numeric'}
        autocomplete="off"
        value={text}
        style={{ width: `calc(${Math.max(2, text.length)}ch + 1.4rem)` }}
        aria-invalid={!isValid}
        aria-describedby={isValid ? undefined : id}
        onInput={(event) => take(event.currentTarget.value)}
        onBlur={() => setText((typed) => String(counts(typed) ? Number(typed) : value))}
        onKeyDown={(event) => {
          const by = { ArrowUp: step < 1 ? 1 : step, ArrowDown: step < 1 ? -1 : -step }[event.key];
          if (by === undefined || !isValid) return;
          event.preventDefault();
          take(String(Math.min(max, Math.max(min, Number(text) + by))));
        }}
      />
      {unit !== undefined && <span>{unit}</span>}
      {!isValid && (
        <small id={id} class="problem number-problem" role="alert">
          {step < 1 ? 'Write a number' : 'Write a whole number'} from {count(min)} to {count(max)}.
        </small>
      )}
    </label>
  );
}
