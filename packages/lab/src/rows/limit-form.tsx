/** One limit for all rows: so many units in a window, and how many of them at the same moment. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { readField } from '../model/field-text.ts';
import type { SharedLimit } from '../model/limit.ts';
import { durationOf } from '../setup/duration.ts';
import { useLab } from '../view/frames.ts';
import { durationWords } from '../words/words.ts';

/** It counts when typing has come to an end. */
const TYPED_MS = 600;

interface Texts {
  readonly units: string;
  readonly window: string;
  readonly burst: string;
}

const FIELDS = [
  { name: 'units', label: 'Limit', width: '3.4rem' },
  { name: 'window', label: 'per', width: '4.2rem' },
  { name: 'burst', label: 'burst', width: '3.4rem' },
] as const;

export function LimitForm(): JSX.Element {
  const { lab } = useLab();
  const { units, window, burst } = lab.limit;
  const [texts, setTexts] = useState<Texts>(() => textsOf(lab.limit));
  const [problem, setProblem] = useState<{ readonly field: string; readonly message: string }>();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    setTexts(textsOf(lab.limit));
    setProblem(undefined);
  }, [units, window, burst]);

  const apply = (written: Texts): void => {
    clearTimeout(timer.current);
    const read = limitOf(written);
    setProblem('field' in read ? read : undefined);
    if ('field' in read || JSON.stringify(read) === JSON.stringify(lab.limit)) return;
    void lab.changeLimit(read);
  };
  const type = (name: keyof Texts, text: string): void => {
    // Whoever changes the limit alone means as many at once.
    const follows = name === 'units' && texts.burst === texts.units;
    const next = { ...texts, [name]: text, ...(follows ? { burst: text } : {}) };
    setTexts(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(next), TYPED_MS);
  };
  return (
    <form
      class="limit-form"
      aria-label="Limit of all rows"
      onSubmit={(event) => {
        event.preventDefault();
        apply(texts);
      }}
    >
      {FIELDS.map(({ name, label, width }) => (
        <label key={name} class="inline-field" title={TITLES[name]}>
          <span>{label}</span>
          <input
            class="input compact"
            style={{ width }}
            autocomplete="off"
            spellcheck={false}
            value={texts[name]}
            aria-invalid={problem?.field === name}
            onInput={(event) => type(name, event.currentTarget.value)}
            onBlur={() => apply(texts)}
          />
        </label>
      ))}
      {problem !== undefined && (
        <small class="problem number-problem" role="alert">
          {problem.message}
        </small>
      )}
    </form>
  );
}

const TITLES: Readonly<Record<keyof Texts, string>> = {
  units: 'How many units are allowed in a window',
  window: 'How long a window is: 10 s, 1 min, 1 h',
  burst: 'How many may come at the same moment: the capacity of buckets and of GCRA, and how many wait in a queue',
};

function textsOf({ units, window, burst }: SharedLimit): Texts {
  return { units: String(units), window: durationWords(window), burst: String(burst) };
}

function limitOf({ units, window, burst }: Texts): SharedLimit | { readonly field: string; readonly message: string } {
  for (const [field, text] of [
    ['units', units],
    ['burst', burst],
  ] as const) {
    const reading = readField('count', text);
    if ('problem' in reading) return { field, message: reading.problem };
  }
  const ms = durationOf(window);
  const reading = readField('duration', window);
  if (ms === undefined) {
    return { field: 'window', message: 'problem' in reading ? reading.problem : 'Write a time of at least 1 ms.' };
  }
  const number = (text: string): number => Number((readField('count', text) as { value: number }).value);
  return { units: number(units), window: ms, burst: number(burst) };
}
