/** How a row did: what it allowed, its worst window against the limit, and the longest that anybody had to wait. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Lab } from '../lab/lab.ts';
import type { Row } from '../model/row.ts';
import { READABLE, setAttribute, setText, useDraw, useLab } from '../view/frames.ts';
import { amount, count, seconds } from '../words/words.ts';

export function RowNumbers({ row }: { readonly row: Row }): JSX.Element {
  const { lab } = useLab();
  const root = useRef<HTMLDListElement>(null);
  useDraw(() => writeNumbers(root.current!, lab, row), READABLE);
  return (
    <dl class="row-numbers" ref={root}>
      <div class="allowed-cell">
        <dt class="visually-hidden">Allowed</dt>
        <dd>
          <b class="numeric" data-count="allowed">
            0
          </b>
          <small class="numeric" data-of />
        </dd>
      </div>
      <div class="worst-cell">
        <dt class="visually-hidden">Worst window</dt>
        <dd>
          <span class="worst-bar" aria-hidden="true">
            <span class="worst-fill" />
            <span class="worst-over" />
          </span>
          <span class="numeric" data-worst>
            0
          </span>
        </dd>
      </div>
      <div class="wait-cell">
        <dt class="visually-hidden">Longest wait</dt>
        <dd class="numeric" data-wait />
      </div>
    </dl>
  );
}

/** The bar ends at twice the limit. */
const BAR = 50;

function writeNumbers(root: HTMLElement, lab: Lab, row: Row): void {
  const part = <T extends HTMLElement>(selector: string): T => root.querySelector<T>(selector)!;
  const last = lab.trace.lastAt(lab.time);
  const { allowed, delayed, denied } = lab.trace.countsUpTo(row.id, lab.client, last);
  const answers = lab.trace.rows[row.id]!;
  const [worst, wait] =
    last < 0 ? [0, 0] : [answers.worst[lab.trace.slot(last)]!, answers.longestWait[lab.trace.slot(last)]!];
  setText(part('[data-count]'), count(allowed));
  setText(part('[data-of]'), allowed + denied === 0 ? '' : `of ${count(allowed + denied)}`);
  setAttribute(root, 'data-allowed', String(allowed));
  setAttribute(root, 'data-delayed', String(delayed));
  setAttribute(root, 'data-denied', String(denied));
  const { units } = row.meant;
  // Within one unit a rate that does not divide its window evenly is no excess.
  const isOver = worst >= units + 1 - 1e-6;
  setText(part('[data-worst]'), amount(worst));
  setAttribute(root, 'data-over', isOver ? 'true' : undefined);
  setWidth(part('.worst-fill'), Math.min(1, worst / units) * BAR);
  setWidth(part('.worst-over'), isOver ? Math.min(1, (worst - units) / units) * BAR : 0);
  setText(part('[data-wait]'), wait === 0 ? '–' : seconds(wait));
}

function setWidth(element: HTMLElement, percent: number): void {
  const width = `${percent.toFixed(1)}%`;
  if (element.style.width !== width) element.style.width = width;
}
