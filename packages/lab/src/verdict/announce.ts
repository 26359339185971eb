/** Says results in words, for those who do not see the pictures. */
import type { Lab } from '../lab/lab.ts';

/** What became of the last `count` requests, row by row. */
export function describeLast({ trace, rows }: Lab, count: number): string {
  const from = Math.max(trace.first, trace.length - count);
  const answers = rows.map(({ id, title }) => {
    let [allowed, delayed] = [0, 0];
    for (let index = from; index < trace.length; index += 1) {
      const outcome = trace.outcome(id, index);
      if (outcome === 'allowed' || outcome === 'delayed') allowed += 1;
      if (outcome === 'delayed') delayed += 1;
    }
    if (count === 1) return `${title} ${delayed > 0 ? 'delayed' : allowed > 0 ? 'allowed' : 'denied'}`;
    return `${title} ${allowed} of ${count}${delayed > 0 ? `, ${delayed} delayed` : ''}`;
  });
  return `${count === 1 ? 'Request' : `${count} requests`}: ${answers.join('; ')}.`;
}
