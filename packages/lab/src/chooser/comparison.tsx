/** All of them side by side, in measured numbers. */
import type { JSX } from 'preact';
import { CARDS, type CardId } from '../cards/catalog.ts';
import { bytesText, MEASURED_ON, type Measured, measuredOf } from './measured.ts';

/** What an algorithm does with a burst, and what it is best for. */
const WORDS: Readonly<Record<CardId, { readonly burst: string; readonly bestFor: string }>> = {
  'fixed-window': {
    burst: 'the whole limit at any time, and again after the edge',
    bestFor: 'Quotas by the calendar: 10,000 a day',
  },
  'sliding-window-log': {
    burst: 'the whole limit at any time, then nothing until it leaves',
    bestFor: 'Billing, audits, logins: exact and on record',
  },
  'sliding-window-counter': {
    burst: 'the whole limit at any time, coming back as it fades',
    bestFor: 'The good default for n per minute',
  },
  'token-bucket': {
    burst: 'the capacity after a pause, then the rate',
    bestFor: 'APIs for people: bursts welcome, average held',
  },
  'leaky-bucket-policing': {
    burst: 'the capacity after a pause, then the rate',
    bestFor: 'The same, for those who think in queues',
  },
  'leaky-bucket-shaping': {
    burst: 'one at a time; the others wait for their slot',
    bestFor: 'Fragile backends, webhooks, partner APIs',
  },
  gcra: { burst: 'the capacity after a pause, then the rate', bestFor: 'Token bucket for millions of clients' },
};

export function Comparison({ recommended }: { readonly recommended: CardId | undefined }): JSX.Element {
  const { limit, windowSeconds, redis, node } = MEASURED_ON;
  return (
    <section class="panel comparison" aria-labelledby="comparison-title">
      <h2 id="comparison-title">All seven, measured</h2>
      <p class="comparison-note">
        A limit of {limit} in {windowSeconds} s on this library: the memory of a client that has used it up, in a
        process (Node {node.split('.')[0]}) and on Redis {redis}, and the most that passes in any {windowSeconds} s.
      </p>
      <div class="comparison-scroll">
        <table class="table" aria-labelledby="comparison-title">
          <thead>
            <tr>
              <th scope="col" rowSpan={2}>
                Algorithm
              </th>
              <th scope="col" rowSpan={2}>
                Memory per client
              </th>
              <th scope="colgroup" colSpan={2} class="group">
                Accuracy: passed, of a limit of {limit}
              </th>
              <th scope="col" rowSpan={2}>
                Burst behaviour
              </th>
              <th scope="col" rowSpan={2}>
                Best for
              </th>
            </tr>
            <tr>
              <th scope="col">Everything at an edge</th>
              <th scope="col">Worst window found</th>
            </tr>
          </thead>
          <tbody>
            {CARDS.map(({ id, title }) => (
              <Row key={id} id={id} title={title} measured={measuredOf(id)} isRecommended={id === recommended} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row(props: {
  readonly id: CardId;
  readonly title: string;
  readonly measured: Measured;
  readonly isRecommended: boolean;
}): JSX.Element {
  const { id, title, measured, isRecommended } = props;
  const { limit, boundary, worst, redisBytes, memoryBytes } = measured;
  return (
    <tr data-algorithm={id} class={isRecommended ? 'recommended' : undefined}>
      <th scope="row">
        {title}
        {isRecommended && <span class="tag">your choice</span>}
      </th>
      <td class="numeric bytes" data-label="Memory per client">
        <div>
          <b>{bytesText(memoryBytes)}</b> in process
          <br />
          <b>{bytesText(redisBytes)}</b> on Redis
        </div>
      </td>
      <td data-label="Everything at an edge">
        <AgainstLimit count={boundary} limit={limit} />
      </td>
      <td data-label="Worst window found">
        <AgainstLimit count={worst} limit={limit} />
      </td>
      <td data-label="Burst behaviour">{WORDS[id].burst}</td>
      <td data-label="Best for">{WORDS[id].bestFor}</td>
    </tr>
  );
}

/** The bar ends at twice the limit, and the limit is marked. */
function AgainstLimit({ count, limit }: { readonly count: number; readonly limit: number }): JSX.Element {
  const over = Math.max(0, count - limit);
  return (
    <span class={over > 1 ? 'against over' : 'against'}>
      <span class="against-track" aria-hidden="true">
        <span class="against-fill" style={{ width: `${(Math.min(count, limit) / limit) * 50}%` }} />
        <span class="against-over" style={{ width: `${(over / limit) * 50}%` }} />
      </span>
      <span class="numeric">{count}</span>
    </span>
  );
}
