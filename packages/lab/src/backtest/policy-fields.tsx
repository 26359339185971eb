/** A policy by sliders and choices: one for each field that its algorithm declares. */
import type { JSX } from 'preact';
import { algorithms, checkPolicy } from 'sluice';
import { ruleOf } from 'sluice/store';
import { exactDuration } from './words.ts';

/** Values of the fields, as a policy has them. */
export type Values = Readonly<Record<string, number | string>>;

export interface PolicyChoice {
  readonly algorithm: string;
  readonly values: Values;
}

/** Units a second. */
const RATES = [
  1 / 3600,
  1 / 360,
  1 / 60,
  1 / 30,
  1 / 12,
  1 / 6,
  0.25,
  0.5,
  1,
  2,
  3,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  1000,
];
/** Milliseconds. */
const DURATIONS = [1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 36e5, 864e5];
/** From 1 to 100,000, in steps that look even. */
const COUNTS = [...new Set(Array.from({ length: 101 }, (_, step) => Math.round(10 ** (step / 20))))];

const STEPS = { count: COUNTS, rate: RATES, duration: DURATIONS } as const;
const USUAL = { count: 60, rate: 1, duration: 6e4 } as const;

type Kind = keyof typeof STEPS;

const fieldsOf = (algorithm: string) => algorithms.find(({ name }) => name === algorithm)?.fields ?? {};

/** Fields with numbers. */
function numberFields(algorithm: string): readonly (readonly [name: string, kind: Kind, about: string])[] {
  return Object.entries(fieldsOf(algorithm)).flatMap(([name, { kind, about }]) =>
    kind in STEPS ? [[name, kind as Kind, about ?? ''] as const] : [],
  );
}

/** Fields with a choice of a few; the first is the usual one. */
function choiceFields(algorithm: string): readonly (readonly [name: string, of: readonly string[], about: string])[] {
  return Object.entries(fieldsOf(algorithm)).flatMap(([name, field]) =>
    field.kind === 'choice' ? [[name, field.of ?? [], field.about ?? ''] as const] : [],
  );
}

export function usualChoice(algorithm: string, known: Values = {}): PolicyChoice {
  const numbers = numberFields(algorithm).map(([name, kind]) => [name, known[name] ?? USUAL[kind]] as const);
  const choices = choiceFields(algorithm).map(([name, of]) => [name, of[0]!] as const);
  return { algorithm, values: Object.fromEntries([...numbers, ...choices]) };
}

/** Those that decide by times and costs alone. */
const TRIABLE = algorithms
  .filter(({ name }) => ruleOf(checkPolicy({ algorithm: name, ...usualChoice(name).values })).permits === undefined)
  .map(({ name }) => name);

const WHY_NOT = 'A log does not say when a request ended, so this cannot be tried on it.';

export function PolicyFields(props: {
  readonly choice: PolicyChoice;
  readonly onChange: (choice: PolicyChoice) => void;
}): JSX.Element {
  const { choice, onChange } = props;
  const change = (name: string, value: number | string): void =>
    onChange({ ...choice, values: { ...choice.values, [name]: value } });
  return (
    <div class="backtest-fields">
      <label class="field">
        <span>Algorithm</span>
        <select
          class="select"
          value={choice.algorithm}
          onChange={({ currentTarget }) => onChange(usualChoice(currentTarget.value, choice.values))}
        >
          {algorithms.map(({ name }) => (
            <option key={name} disabled={!TRIABLE.includes(name)} title={TRIABLE.includes(name) ? undefined : WHY_NOT}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {numberFields(choice.algorithm).map(([name, kind, about]) => (
        <Slider
          key={name}
          name={name}
          kind={kind}
          about={about}
          value={Number(choice.values[name])}
          onChange={(value) => change(name, value)}
        />
      ))}
      {choiceFields(choice.algorithm).map(([name, of, about]) => (
        <label key={name} class="field" title={about}>
          <span>{name}</span>
          <select
            class="select"
            name={name}
            value={choice.values[name]}
            onChange={({ currentTarget }) => change(name, currentTarget.value)}
          >
            {of.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      ))}
    </div>
  );
}

function Slider(props: {
  readonly name: string;
  readonly kind: Kind;
  readonly about: string;
  readonly value: number;
  readonly onChange: (value: number) => void;
}): JSX.Element {
  const { name, kind, about, value, onChange } = props;
  const steps: readonly number[] = STEPS[kind];
  const text = textOf(kind, value);
  return (
    <label class="field" title={about}>
      <span>
        {name} <b class="numeric">{text}</b>
      </span>
      <input
        type="range"
        name={name}
        min={0}
        max={steps.length - 1}
        value={nearestStep(steps, value)}
        aria-valuetext={text}
        onInput={({ currentTarget }) => onChange(steps[Number(currentTarget.value)]!)}
      />
    </label>
  );
}

function nearestStep(steps: readonly number[], value: number): number {
  const distances = steps.map((step) => Math.abs(Math.log(step / value)));
  return distances.indexOf(Math.min(...distances));
}

function textOf(kind: Kind, value: number): string {
  if (kind === 'duration') return exactDuration(value);
  if (kind === 'count') return value.toLocaleString('en-US');
  if (value >= 1) return `${value}/s`;
  return value * 60 >= 0.999 ? `${Math.round(value * 60)}/min` : `${Math.round(value * 3600)}/h`;
}
