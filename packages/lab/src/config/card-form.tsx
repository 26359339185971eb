/** The numbers of a card. What the library refuses is said beside the field, in its own words, and the card keeps its last good policy. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLab } from '../app/frames.ts';
import { type CardField, type CardKind, type Draft, INITIAL_DRAFTS, problemOf } from '../cards/catalog.ts';

export function CardForm({ kind }: { readonly kind: CardKind }): JSX.Element {
  const { lab } = useLab();
  const [draft, setDraft] = useState<Draft>(lab.setup.drafts[kind.id]);
  const problem = problemOf(kind.id, draft);

  const change = (next: Draft): void => {
    setDraft(next);
    if (problemOf(kind.id, next) === undefined) void lab.configure(kind.id, next);
  };

  const isChanged = kind.fields.some(({ name, initial }) => draft[name] !== initial);
  return (
    <form class="drawer" onSubmit={(event) => event.preventDefault()} aria-label={`Settings of ${kind.title}`}>
      <div class="fields">
        {kind.fields.map((field) => (
          <Field
            key={field.name}
            id={`${kind.id}-${field.name}`}
            field={field}
            value={draft[field.name] ?? ''}
            problem={problem?.field === field.name ? problem.message : undefined}
            onChange={(value) => change({ ...draft, [field.name]: value })}
          />
        ))}
      </div>
      {isChanged && (
        <button type="button" class="button quiet small" onClick={() => change(INITIAL_DRAFTS[kind.id])}>
          As at first
        </button>
      )}
    </form>
  );
}

function Field(props: {
  readonly id: string;
  readonly field: CardField;
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
            <option key={choice} value={choice}>
              {choice === 'epoch' ? 'on the clock' : 'with the first request'}
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
