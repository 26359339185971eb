/** A choice of a few, shown at once. */
import type { JSX } from 'preact';

export interface Segment<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** Why it cannot be chosen; undefined when it can. */
  readonly disabled?: string | undefined;
  readonly title?: string | undefined;
}

export function Segments<Value extends string>(props: {
  readonly label: string;
  readonly options: readonly Segment<Value>[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out inline in every browser.
    <div class="segments" role="group" aria-label={props.label}>
      {props.options.map(({ value, label, disabled, title }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          disabled={disabled !== undefined}
          title={disabled ?? title}
          onClick={() => props.onChange(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
