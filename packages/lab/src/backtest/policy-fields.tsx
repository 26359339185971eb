/** A policy by sliders: one for each field that its algorithm declares. */
import type { JSX } from 'preact';
import { algorithms } from 'sluice';
import { exactDuration } from './words.ts';

/** Values of the fields, as a policy has them. */
export type Values = Readonly<Record<string, number>>;

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

/** Fields with numbers, of algorithms whose rules decide by times and costs alone. */
export function numberFields(algorithm: string): readonly (readonly [name: string, kind: Kind, about: string])[] {
  const fields = algorithms.find(({ name }) => name === algorithm)?.fields ?? {};
  return Object.entries(fields).flatMap(([name, { kind, about }]) =>
    kind in STEPS ? [[name, kind as Kind, about ?? ''] as const] : [],
  );
}

export function usualChoice(algorithm: string, known: Values = {}): PolicyChoice {
  const values = numberFields(algorithm).map(([name, kind]) => [name, known[name] ?? USUAL[kind]] as const);
  return { algorithm, values: Object.fromEntries(values) };
}

export function PolicyFields(props: {
  readonly choice: PolicyChoice;
  readonly onChange: (choice: PolicyChoice) => void;
}): JSX.Element {
  const { choice, onChange } = props;
  return (
    <div class="backtest-fields">
      <label>
        Algorithm
        <select
          value={choice.algorithm}
          onChange={({ currentTarget }) => onChange(usualChoice(currentTarget.value, choice.values))}
        >
          {algorithms.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {numberFields(choice.algorithm).map(([name, kind, about]) => (
        <Slider
          key={name}
          name={name}
          kind={kind}
          about={about}
          value={choice.values[name]!}
          onChange={(value) => onChange({ ...choice, values: { ...choice.values, [name]: value } })}
        />
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
    <label title={about}>
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
