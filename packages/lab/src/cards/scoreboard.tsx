/** The comparison at a glance: of the same requests, how many each algorithm let through. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { READABLE, useDraw, useLab } from '../app/frames.ts';
import { CARDS } from './catalog.ts';

export function Scoreboard(): JSX.Element {
  const { lab } = useLab();
  const list = useRef<HTMLOListElement>(null);
  const heading = useRef<HTMLParagraphElement>(null);

  useDraw(() => {
    const { trace, client } = lab;
    const last = trace.lastAt(lab.time);
    const rows = list.current!.children;
    let sent = 0;
    CARDS.forEach(({ id }, index) => {
      const { allowed, denied } = trace.countsUpTo(id, client, last);
      sent = allowed + denied;
      const [, bar, number] = rows[index]!.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
      const width = sent === 0 ? '0' : `${(allowed / sent) * 100}%`;
      const fill = bar.firstElementChild as HTMLElement;
      if (fill.style.width !== width) fill.style.width = width;
      const text = String(allowed);
      if (number.textContent !== text) number.textContent = text;
    });
    const who = lab.clients.length > 1 ? ` from the ${lab.clients[client]} client` : '';
    const text = sent === 0 ? 'nothing sent yet' : `of ${sent} sent${who}`;
    if (heading.current!.textContent !== text) heading.current!.textContent = text;
  }, READABLE);

  return (
    <section class="card scoreboard panel" aria-labelledby="scoreboard-title">
      <header class="card-head">
        <div>
          <h3 id="scoreboard-title">Let through</h3>
          <p class="card-summary numeric" ref={heading} />
        </div>
      </header>
      <ol class="scores" ref={list}>
        {CARDS.map(({ id, title }) => (
          <li key={id}>
            <span class="score-title">{title}</span>
            <span class="score-bar">
              <span />
            </span>
            <span class="score-number numeric" data-score={id}>
              0
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
