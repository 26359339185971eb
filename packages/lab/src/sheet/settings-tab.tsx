/** The numbers of a row, apart from those of all. What cannot be read is said beside the field, and the row keeps its last good policy. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Draft, Field as FieldOf } from '../model/kind.ts';
import { problemOf, type Row, tidied } from '../model/row.ts';
import { useLab } from '../view/frames.ts';

/** Nobody wants to see what 1, 15 and 15 s each would have done: it counts when typing has come to an end. */
const TYPED_MS = 600;

export function SettingsTab({ row }: { readonly row: Row }): JSX.Element {
  const { lab } = useLab();
  const { kind } = row;
  const [draft, setDraft] = useState<Draft>(row.draft);
  const problem = problemOf(kind, draft);
  const typed = useRef<{ readonly draft: Draft; readonly timer: ReturnType<typeof setTimeout> } | undefined>(undefined);
  const shared = JSON.stringify(row.draft);
  useEffect(() => {
    if (typed.current === undefined) setDraft(row.draft);
  }, [shared]);

  const apply = (): void => {
    const waiting = typed.current;
    typed.current = undefined;
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    if (problemOf(kind, waiting.draft) === undefined) void lab.configure(row.id, tidied(kind, waiting.draft));
  };
  const change = (next: Draft): void => {
    setDraft(next);
    clearTimeout(typed.current?.timer);
    typed.current = { draft: next, timer: setTimeout(apply, TYPED_MS) };
  };
  useEffect(() => apply, []);
  return (
    <form
      class="settings"
      aria-label={`Numbers of ${row.title}`}
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
      onFocusOut={apply}
    >
      <p class="hint">
        These numbers are of this row alone.{' '}
        {lab.engine.isVirtual
          ? 'The requests so far are answered again under them.'
          : 'On a server everything begins anew.'}
      </p>
      <div class="fields">
        {kind.fields.map((field) => (
          <Field
            key={field.name}
            id={`${row.id}-${field.name}`}
            field={field}
            value={draft[field.name] ?? ''}
            problem={problem?.field === field.name ? problem.message : undefined}
            onChange={(value) => change({ ...draft, [field.name]: value })}
          />
        ))}
      </div>
      {row.deviates && (
        <button type="button" class="button small" onClick={() => void lab.configure(row.id, undefined)}>
          Same limit as all rows
        </button>
      )}
    </form>
  );
}

function Field(props: {
  readonly id: string;
  readonly field: FieldOf;
  readonly value: string;
  readonly problem: string | undefined;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  const { id, field, value, problem, onChange } = props;
  return (
    <div class="field">
      <label for={id}>{field.label}</label>
      {field.choices === undefined ? (
        <input
          id={id}
          class="input"
          autocomplete="off"
          spellcheck={false}
          value={value}
          aria-invalid={problem !== undefined}
          aria-describedby={`${id}-note`}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      ) : (
        <select id={id} class="select" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {field.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
      <small
        id={`${id}-note`}
        class={problem === undefined ? 'hint' : 'problem'}
        role={problem === undefined ? undefined : 'alert'}
      >
        {problem ?? field.hint}
      </small>
    </div>
  );
}
