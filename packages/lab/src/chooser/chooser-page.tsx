/** The chooser: from a few questions to a policy, and all algorithms compared. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Comparison } from './comparison.tsx';
import { QuestionCard } from './question-card.tsx';
import { type Answers, askedQuestions, isComplete, withAnswer } from './questions.ts';
import { type Amount, recommend } from './recommend.ts';
import { RecommendationPanel } from './recommendation-panel.tsx';

export function ChooserPage(): JSX.Element {
  const [answers, setAnswers] = useState<Answers>({});
  const [amount, setAmount] = useState<Amount>({ units: 100, per: 'm' });
  const recommendation = isComplete(answers) ? recommend(answers, amount) : undefined;
  return (
    <div class="chooser">
      <header>
        <h1>Which one?</h1>
        <p class="lede">A few questions, a policy, and the reason for it.</p>
      </header>
      <div class="chooser-columns">
        <form class="questions" onSubmit={(event) => event.preventDefault()} aria-label="Questions">
          {askedQuestions(answers).map((question, index) => (
            <QuestionCard
              key={question.id}
              question={question}
              number={index + 1}
              chosen={answers[question.id]}
              onChoose={(value) => setAnswers(withAnswer(answers, question.id, value))}
            />
          ))}
        </form>
        {recommendation === undefined ? (
          <aside class="panel recommendation pending">
            <p>The answer will stand here, with its code.</p>
          </aside>
        ) : (
          <RecommendationPanel recommendation={recommendation} amount={amount} onAmount={setAmount} />
        )}
      </div>
      <Comparison recommended={recommendation?.card} />
    </div>
  );
}
