/** A policy as it is written: in TypeScript, and in YAML. Fields as a person would write them: no default, times and rates with a unit. */
import type { Kind, Numbers } from '../model/kind.ts';
import { rateCode } from '../model/rates.ts';
import { durationCode } from '../words/words.ts';

/** What code is written for. */
export interface Coded {
  readonly kind: Kind;
  readonly numbers: Numbers;
}

export function fieldsOf({ kind, numbers }: Coded): readonly (readonly [string, string | number])[] {
  const fields = kind.fields.map(({ name, kind: type }): readonly [string, string | number] => {
    const value = numbers[name] as number | string;
    if (type === 'duration') return [name, durationCode(value as number)];
    return [name, type === 'rate' ? rateCode(value as number) : value];
  });
  return [...fields, ...Object.entries(kind.fixed)].filter(([name, value]) => kind.defaults[name] !== value);
}

/** `tokenBucket({ capacity: 10, refillRate: 1 })`. */
export function policyCall(coded: Coded): string {
  const options = fieldsOf(coded).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? `'${value}'` : value}`,
  );
  return `${coded.kind.factory}({ ${options.join(', ')} })`;
}

/** The lines below the name of a policy. */
export function policyYaml(coded: Coded): readonly string[] {
  return [`algorithm: ${coded.kind.algorithm}`, ...fieldsOf(coded).map(([name, value]) => `${name}: ${value}`)];
}

/** As JSON for the HTTP API. */
export function policyJson(coded: Coded): object {
  return { algorithm: coded.kind.algorithm, ...Object.fromEntries(fieldsOf(coded)) };
}
