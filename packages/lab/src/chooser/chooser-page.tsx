/** The chooser: an answer first, questions that make it fit, and all algorithms compared. */
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { askedQuestions, withAnswer } from '../model/choose/questions.ts';
import { recommend } from '../model/choose/recommend.ts';
import { type Chosen, readChosen, writeChosen } from './chooser-address.ts';
import { Comparison } from './comparison.tsx';
import { LimitFields } from './limit-fields.tsx';
import { QuestionCard } from './question-card.tsx';
import { RecommendationPanel } from './recommendation-panel.tsx';

export function ChooserPage({ parameters }: { readonly parameters: URLSearchParams }): JSX.Element {
  const [chosen, setChosen] = useState<Chosen>(() => readChosen(parameters));
  const { answers, limit } = chosen;
  const address = writeChosen(chosen);
  // With the same frame as the answer: an effect after it lags on a busy machine, and a reload would lose the answer.
  useLayoutEffect(() => history.replaceState(null, '', address), [address]);
  const recommendation = recommend(answers, limit);
  const hasAnswers = Object.keys(answers).length > 0;
  return (
    <div class="chooser">
      <header>
        <h1>Which rate limit?</h1>
        <p class="lede">
          Not sure? Take the <b>sliding window counter</b>. For an API that people use, take a <b>token bucket</b> with
          a burst of 10 to 20 %. A few answers make it fit your case.
        </p>
      </header>
      <div class="chooser-columns">
        <form class="questions" onSubmit={(event) => event.preventDefault()} aria-label="Questions">
          <LimitFields
            limit={limit}
            hasBurst={recommendation.row.kind.hasBurst}
            onChange={(changed) => setChosen({ answers, limit: changed })}
          />
          {askedQuestions(answers).map((question) => (
            <QuestionCard
              key={question.id}
              question={question}
              chosen={answers[question.id]}
              onChoose={(value) => setChosen({ limit, answers: withAnswer(answers, question.id, value) })}
            />
          ))}
          {hasAnswers && (
            <button type="button" class="button small" onClick={() => setChosen({ limit, answers: {} })}>
              Start over
            </button>
          )}
        </form>
        <RecommendationPanel recommendation={recommendation} limit={limit} isDefault={!hasAnswers} />
      </div>
      <Comparison recommended={recommendation.row.id} />
    </div>
  );
}
