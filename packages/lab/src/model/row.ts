/** A row of the lab: an algorithm with numbers, or a set of policies that a story compares. */
import { checkPolicy, type Policy, SluiceError } from 'sluice';
import type { TracedRow } from '../trace/trace.ts';
import { readField } from './field-text.ts';
import { type Draft, type Kind, type Numbers, numbersOf } from './kind.ts';
import type { Meant, SharedLimit } from './limit.ts';

/** What an attempt asks one policy for. */
export interface Charge {
  readonly policy: Policy;
  /** One for each request, or as many units as the request costs. */
  readonly of: 'request' | 'units';
}

export interface RowPart {
  readonly title: string;
  readonly limit: number;
}

export interface Row extends TracedRow {
  readonly kind: Kind;
  readonly title: string;
  readonly short: string;
  readonly note: string;
  readonly draft: Draft;
  /** Whether its numbers are not those of the shared limit. */
  readonly deviates: boolean;
  readonly charges: readonly Charge[];
  /** Of the first policy, which the picture shows. */
  readonly numbers: Numbers;
  readonly summary: string;
  /** The most that fits at one moment. */
  readonly capacity: number;
  readonly meant: Meant;
  /** How long a request runs that is allowed, in milliseconds: its place, where there are places, is given back then. Default: no time. */
  readonly holdsMs?: number;
  /** One for each policy, where there are several. */
  readonly parts: readonly RowPart[];
}

/** A row of one algorithm: with the shared limit, or with a draft of its own. */
export function rowOf(kind: Kind, limit: SharedLimit, own?: Draft): Row {
  const draft = own ?? kind.draftOf(limit);
  const policy = policyOf(kind, draft);
  const numbers = numbersOf(policy);
  const deviates = own !== undefined && !isSame(own, kind.draftOf(limit));
  const meant = deviates ? kind.meant(numbers, limit.window) : { units: limit.units, window: limit.window };
  return {
    ...{
      id: kind.id,
      kind,
      title: kind.title,
      short: kind.short,
      note: kind.tradeOff,
      draft,
      deviates,
      numbers,
      meant,
    },
    policies: 1,
    charges: [{ policy, of: 'units' }],
    summary: kind.summary(numbers),
    capacity: kind.capacity(numbers),
    clockWindow: kind.clockWindow(numbers),
    window: meant.window,
    parts: [],
  };
}

function isSame(one: Draft, other: Draft): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}

/** The policy a form describes, checked by the library: throws for a draft that has a problem. */
export function policyOf(kind: Kind, draft: Draft): Policy {
  const options = kind.fields.map((field) => {
    const reading = readField(field.kind, draft[field.name] ?? field.choices?.[0]?.value ?? '');
    return [field.name, 'value' in reading ? reading.value : undefined];
  });
  return checkPolicy({ algorithm: kind.algorithm, ...kind.fixed, ...Object.fromEntries(options) }, kind.algorithm);
}

/** The texts as they are kept and shared: "10 sec" is `10s`. */
export function tidied(kind: Kind, draft: Draft): Draft {
  const texts = kind.fields.map((field) => {
    const reading = readField(field.kind, draft[field.name] ?? '');
    return [field.name, 'value' in reading ? String(reading.value) : (draft[field.name] ?? '')];
  });
  return Object.fromEntries(texts) as Draft;
}

export interface DraftProblem {
  readonly field: string;
  /** A sentence that says what to write instead. */
  readonly message: string;
}

/** What is wrong with a draft, or undefined when it is fine. */
export function problemOf(kind: Kind, draft: Draft): DraftProblem | undefined {
  for (const field of kind.fields) {
    const reading = readField(field.kind, draft[field.name] ?? '');
    if ('problem' in reading) return { field: field.name, message: reading.problem };
  }
  try {
    policyOf(kind, draft);
    return undefined;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return { field: error.path.split('.').pop()!, message: `This does not work: it has to be ${error.expected}.` };
  }
}
