/** Says results in words, for those who do not see the pictures. */
import { CARDS } from '../cards/catalog.ts';
import type { Lab } from '../engine/lab.ts';

/** What became of the last `count` requests, card by card. */
export function describeLast(lab: Lab, count: number): string {
  const { trace } = lab;
  const from = Math.max(trace.first, trace.length - count);
  const answers = CARDS.map(({ id, title }) => {
    let [allowed, delayed] = [0, 0];
    for (let index = from; index < trace.length; index += 1) {
      const outcome = trace.outcome(id, index);
      if (outcome !== 'denied') allowed += 1;
      if (outcome === 'delayed') delayed += 1;
    }
    if (count === 1) return `${title} ${delayed > 0 ? 'delayed' : allowed > 0 ? 'allowed' : 'denied'}`;
    return `${title} ${allowed} of ${count}${delayed > 0 ? `, ${delayed} delayed` : ''}`;
  });
  return `${count === 1 ? 'Request' : `${count} requests`}: ${answers.join('; ')}.`;
}
