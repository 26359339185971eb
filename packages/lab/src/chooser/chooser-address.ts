/** What was answered, in the address: a page that is loaded again, or come back to, has it still. */
import { type Answers, known, QUESTIONS } from '../model/choose/questions.ts';
import { usualBurst } from '../model/choose/recommend.ts';
import type { SharedLimit } from '../model/limit.ts';
import { readLimit } from '../setup/address.ts';
import { durationCode } from '../words/words.ts';

export interface Chosen {
  readonly answers: Answers;
  readonly limit: SharedLimit;
}

const INITIAL: SharedLimit = { units: 100, window: 60_000, burst: usualBurst(100) };

export function readChosen(parameters: URLSearchParams): Chosen {
  const answers = known(Object.fromEntries(QUESTIONS.map(({ id }) => [id, parameters.get(id) ?? undefined])));
  const limit = parameters.has('limit') ? readLimit(parameters) : INITIAL;
  return {
    answers,
    limit:
      parameters.has('capacity') || !parameters.has('limit') ? limit : { ...limit, burst: usualBurst(limit.units) },
  };
}

export function writeChosen({ answers, limit }: Chosen): string {
  const parameters = new URLSearchParams(answers as Record<string, string>);
  const isInitial = JSON.stringify(limit) === JSON.stringify(INITIAL);
  if (!isInitial) parameters.set('limit', `${limit.units}/${durationCode(limit.window)}`);
  if (!isInitial && limit.burst !== usualBurst(limit.units)) parameters.set('capacity', String(limit.burst));
  const query = parameters.toString().replaceAll('%2F', '/');
  return query === '' ? '#/choose' : `#/choose?${query}`;
}

/** The lab with this limit in all rows, with traffic of twice as much, and one row opened at its code. */
export function labAddress(row: string, { units, window, burst }: SharedLimit): string {
  const rate = Math.min(10_000, Math.max(1, 2 * units));
  return `#/?limit=${units}/${durationCode(window)}&capacity=${burst}&traffic=poisson&rate=${rate}&row=${row}`;
}
