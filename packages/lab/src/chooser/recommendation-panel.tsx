/** Where the answers lead: an algorithm, the reasons, how it compares with the next best on these numbers, its code, and the way into the lab. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CodePanel } from '../code/code-panel.tsx';
import type { Recommendation } from '../model/choose/recommend.ts';
import { type WorstCase, worstCase } from '../model/choose/worst-case.ts';
import type { SharedLimit } from '../model/limit.ts';
import type { Row } from '../model/row.ts';
import { amount, perWords, seconds } from '../words/words.ts';
import { labAddress } from './chooser-address.ts';

export interface RecommendationPanelProps {
  readonly recommendation: Recommendation;
  readonly limit: SharedLimit;
  /** Nothing was answered yet. */
  readonly isDefault: boolean;
}

export function RecommendationPanel({ recommendation, limit, isDefault }: RecommendationPanelProps): JSX.Element {
  const { row, reasons, isShared } = recommendation;
  return (
    <section class="panel recommendation" aria-label="Recommendation">
      <div aria-live="polite">
        <p class="eyebrow">{isDefault ? 'A good default' : 'For your case'}</p>
        <h2 data-recommended={row.id}>{row.title}</h2>
        <p class="recommended-numbers numeric">{row.summary}</p>
        <ul class="reasons">
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      </div>
      <CodePanel key={isShared ? 'shared' : 'alone'} coded={row} store={isShared ? 'node-redis' : 'memory'} />
      <Against recommendation={recommendation} limit={limit} />
      <a class="button primary" href={labAddress(row.id, limit)}>
        See it in the lab
      </a>
    </section>
  );
}

/** The two best, under the traffic that each bears worst. */
function Against({ recommendation, limit }: Pick<RecommendationPanelProps, 'recommendation' | 'limit'>): JSX.Element {
  const { row, runnerUp, whyNot } = recommendation;
  const cases = useWorstCases([row, runnerUp], limit);
  const most = (share: number): string => amount(Math.round(share * limit.units));
  return (
    <div class="against-runner-up">
      <p>
        <b>Or {runnerUp.title.toLowerCase()}?</b> {whyNot}
      </p>
      <table class="table compact">
        <caption class="visually-hidden">The worst case of both with your numbers</caption>
        <thead>
          <tr>
            <th scope="col">At worst, of {amount(limit.units)}</th>
            <th scope="col">{row.short}</th>
            <th scope="col">{runnerUp.short}</th>
          </tr>
        </thead>
        <tbody>
          {MEASURES.map(({ label, text }) => (
            <tr key={label}>
              <th scope="row">{label.replace('$window', perWords(limit.window))}</th>
              {[row, runnerUp].map(({ id }) => (
                <td key={id} class="numeric">
                  {cases[id] === undefined ? '…' : text(cases[id], most, limit.window)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const MEASURES: readonly {
  readonly label: string;
  text(found: WorstCase, most: (share: number) => string, window: number): string;
}[] = [
  { label: 'in one $window around an edge', text: ({ atEdge }, most) => most(atEdge) },
  { label: 'in any $window under constant load', text: ({ steady }, most) => most(steady) },
  { label: 'at the same moment', text: ({ atOnce }, most) => most(atOnce) },
  {
    label: 'wait after a burst',
    text: ({ recovers }, _most, window) => (recovers === 0 ? 'none' : seconds(recovers * window).replace('.0 ', ' ')),
  },
];

function useWorstCases(rows: readonly Row[], limit: SharedLimit): Readonly<Record<string, WorstCase>> {
  const [cases, setCases] = useState<Readonly<Record<string, WorstCase>>>({});
  const key = `${rows.map(({ id }) => id).join()} ${JSON.stringify(limit)}`;
  useEffect(() => {
    let isCurrent = true;
    void Promise.all(rows.map(async ({ id, kind }) => [id, await worstCase(kind, limit)] as const)).then((found) => {
      if (isCurrent) setCases(Object.fromEntries(found));
    });
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return cases;
}
