/** Where the questions lead: a policy, the reasons, its code, and the way into the lab. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { cardOf } from '../cards/catalog.ts';
import { CodeBlock } from '../controls/code-block.tsx';
import { labAddress } from '../share/share.ts';
import { LANGUAGES, policyCode } from './policy-code.ts';
import { type Amount, type Recommendation, SPANS, type Span } from './recommend.ts';

export function RecommendationPanel(props: {
  readonly recommendation: Recommendation;
  readonly amount: Amount;
  readonly onAmount: (amount: Amount) => void;
}): JSX.Element {
  const { recommendation, amount, onAmount } = props;
  const { card, draft, reasons } = recommendation;
  return (
    <section class="panel recommendation" aria-label="Recommendation">
      <div aria-live="polite">
        <p class="eyebrow">Take the</p>
        <h2 data-recommended={card}>{cardOf(card).title}</h2>
        <ul class="reasons">
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      </div>
      <AmountFields amount={amount} onAmount={onAmount} />
      <CodeBlock
        languages={LANGUAGES}
        codeIn={(language) => policyCode(language, recommendation)}
        frame="recommended-code"
        bar="recommended-bar"
      />
      <a class="button primary" href={labAddress(card, draft)}>
        Open it in the lab
      </a>
    </section>
  );
}

const MAX_UNITS = 1_000_000;

function AmountFields(props: { readonly amount: Amount; readonly onAmount: (amount: Amount) => void }): JSX.Element {
  const { amount, onAmount } = props;
  const [text, setText] = useState(String(amount.units));
  const units = /^\d+$/.test(text) ? Number(text) : 0;
  const isValid = units >= 1 && units <= MAX_UNITS;
  const change = (written: string): void => {
    setText(written);
    const next = /^\d+$/.test(written) ? Number(written) : 0;
    if (next >= 1 && next <= MAX_UNITS) onAmount({ ...amount, units: next });
  };
  return (
    <div class="amount">
      <div class="field">
        <label for="amount-units">Allow</label>
        <input
          id="amount-units"
          class="input"
          inputMode="numeric"
          autocomplete="off"
          value={text}
          aria-invalid={!isValid}
          aria-describedby={isValid ? undefined : 'amount-problem'}
          onInput={(event) => change(event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for="amount-span">per</label>
        <select
          id="amount-span"
          class="select"
          value={amount.per}
          onChange={(event) => onAmount({ ...amount, per: event.currentTarget.value as Span })}
        >
          {Object.entries(SPANS).map(([span, name]) => (
            <option key={span} value={span}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {!isValid && (
        <small id="amount-problem" class="problem" role="alert">
          Expected a whole number from 1 to {MAX_UNITS.toLocaleString('en')}.
        </small>
      )}
    </div>
  );
}
