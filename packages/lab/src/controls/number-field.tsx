/** A number in a small box: what is typed counts as soon as it is one that may be. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export function NumberField(props: {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step?: number;
  readonly hideLabel?: boolean;
  /** Whether the label stands behind the number, as a unit does. */
  readonly after?: boolean;
  readonly onChange: (value: number) => void;
}): JSX.Element {
  const { label, value, min, max, step = 1, hideLabel, after, onChange } = props;
  const [text, setText] = useState(String(value));
  useEffect(() => setText(String(value)), [value]);
  const take = (typed: string): void => {
    setText(typed);
    const number = Number(typed);
    if (typed.trim() !== '' && number >= min && number <= max && (step < 1 || Number.isInteger(number)))
      onChange(number);
  };
  return (
    <label class={after ? 'inline-field after' : 'inline-field'}>
      <span class={hideLabel ? 'visually-hidden' : undefined}>{label}</span>
      <input
        class="input number"
        type="number"
        inputMode={step < 1 ? 'decimal' : 'numeric'}
        min={min}
        max={max}
        step={step}
        value={text}
        onInput={(event) => take(event.currentTarget.value)}
        onBlur={() => setText(String(value))}
      />
    </label>
  );
}
