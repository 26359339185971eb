/** All of them side by side, in measured numbers. */
import type { JSX } from 'preact';
import { bytesText, MEASURED_ON, type Measured, measuredOf } from '../model/choose/measured.ts';
import type { Kind } from '../model/kind.ts';
import { KINDS } from '../model/kinds/index.ts';

export function Comparison({ recommended }: { readonly recommended: string | undefined }): JSX.Element {
  const { limit, windowSeconds, redis, node } = MEASURED_ON;
  return (
    <section class="panel comparison" aria-labelledby="comparison-title">
      <h2 id="comparison-title">All seven, measured</h2>
      <p class="comparison-note">
        Measured on this library with a limit of {limit} in {windowSeconds} s: the memory of a client that has used it
        up, in a process (Node {node.split('.')[0]}) and on Redis {redis}, and the most that is allowed in any{' '}
        {windowSeconds} s.
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
                Allowed at worst, of a limit of {limit}
              </th>
              <th scope="col" rowSpan={2}>
                With a burst
              </th>
              <th scope="col" rowSpan={2}>
                Best for
              </th>
            </tr>
            <tr>
              <th scope="col">All at an edge</th>
              <th scope="col">Worst window found</th>
            </tr>
          </thead>
          <tbody>
            {KINDS.map((kind) => (
              <Row key={kind.id} kind={kind} measured={measuredOf(kind.id)} isRecommended={kind.id === recommended} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row(props: {
  readonly kind: Kind;
  readonly measured: Measured | undefined;
  readonly isRecommended: boolean;
}): JSX.Element {
  const { kind, measured, isRecommended } = props;
  return (
    <tr data-algorithm={kind.id} class={isRecommended ? 'recommended' : undefined}>
      <th scope="row">
        {kind.title}
        {isRecommended && <span class="tag">recommended above</span>}
      </th>
      {measured === undefined ? <td colSpan={3}>not measured</td> : <Numbers measured={measured} />}
      <td data-label="With a burst">{kind.burst}</td>
      <td data-label="Best for">{kind.bestFor}</td>
    </tr>
  );
}

function Numbers({ measured }: { readonly measured: Measured }): JSX.Element {
  const { limit, boundary, worst, redisBytes, memoryBytes } = measured;
  return (
    <>
      <td class="numeric bytes" data-label="Memory per client">
        <div>
          <b>{bytesText(memoryBytes)}</b> in process
          <br />
          <b>{bytesText(redisBytes)}</b> on Redis
        </div>
      </td>
      <td data-label="All at an edge">
        <AgainstLimit count={boundary} limit={limit} />
      </td>
      <td data-label="Worst window found">
        <AgainstLimit count={worst} limit={limit} />
      </td>
    </>
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
