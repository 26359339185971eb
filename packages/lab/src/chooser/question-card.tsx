/** One question and its possible answers. */
import type { JSX } from 'preact';
import type { Question } from '../model/choose/questions.ts';

export function QuestionCard(props: {
  readonly question: Question;
  readonly chosen: string | undefined;
  readonly onChoose: (value: string) => void;
}): JSX.Element {
  const { question, chosen, onChoose } = props;
  return (
    <fieldset class="question" data-question={question.id}>
      <legend>{question.text}</legend>
      <div class="options">
        {question.options.map(({ value, label, note }) => (
          <label key={value} class="option">
            <input
              type="radio"
              name={question.id}
              value={value}
              checked={chosen === value}
              onChange={() => onChoose(value)}
            />
            <span class="option-label">{label}</span>
            <span class="option-note">{note}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
