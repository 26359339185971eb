/** The JSON form of protobuf messages: fields in camelCase or snake_case, what is zero or empty left out, and no field that is unknown. */
import { isFields } from '../files/fields.ts';
import { type Descriptor, type Entry, type LimitOverride, type RateLimitRequest, ServiceError } from './request.ts';
import type { DescriptorStatus, RateLimitResponse } from './response.ts';
import { UNITS, type Unit } from './unit.ts';

/** Throws a ServiceError for what is no such message. */
export function readRequest(json: string): RateLimitRequest {
  const { domain, descriptors, hitsAddend } = message(parse(json), ['domain', 'descriptors', 'hitsAddend']);
  return {
    domain: text(domain, 'domain'),
    descriptors: list(descriptors, 'descriptors').map(readDescriptor),
    hitsAddend: whole(hitsAddend, 'hitsAddend', 2 ** 32 - 1),
  };
}

function parse(json: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new ServiceError((error as SyntaxError).message.slice(0, 200));
  }
  if (hasNameTwice(json)) throw new ServiceError('duplicate field');
  return value;
}

const TEXT_OR_BRACE = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]/g;

/** Whether an object names a field twice, which JSON.parse does not mind, and protobuf does. Only for what is JSON. */
function hasNameTwice(json: string): boolean {
  const objects: Set<string>[] = [];
  for (const [token, text, colon] of json.matchAll(TEXT_OR_BRACE)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (colon !== undefined) {
      const names = objects.at(-1)!;
      const name = JSON.parse(text!) as string;
      if (names.has(name)) return true;
      names.add(name);
    }
  }
  return false;
}

function readDescriptor(value: unknown): Descriptor {
  const fields = message(value, ['entries', 'limit', 'hitsAddend', 'isNegativeHits']);
  const { entries, limit, hitsAddend, isNegativeHits } = fields;
  return {
    entries: list(entries, 'entries').map(readEntry),
    ...(limit === undefined ? {} : { limit: readOverride(limit) }),
    ...(hitsAddend === undefined ? {} : { hitsAddend: whole(hitsAddend, 'hitsAddend', 2 ** 64) }),
    ...(flag(isNegativeHits, 'isNegativeHits') ? { isNegativeHits: true } : {}),
  };
}

function readEntry(value: unknown): Entry {
  const { key, value: text_ } = message(value, ['key', 'value']);
  return { key: text(key, 'key'), value: text(text_, 'value') };
}

function readOverride(value: unknown): LimitOverride {
  const { requestsPerUnit, unit } = message(value, ['requestsPerUnit', 'unit']);
  return { requestsPerUnit: whole(requestsPerUnit, 'requestsPerUnit', 2 ** 32 - 1), unit: unitIn(unit) };
}

/** The week came later, and only to answers. */
const OVERRIDE_UNITS: readonly Unit[] = UNITS.filter((unit) => unit !== 'WEEK');

function unitIn(value: unknown): Unit {
  if (value === undefined) return 'UNKNOWN';
  if (typeof value === 'string' && OVERRIDE_UNITS.includes(value as Unit)) return value as Unit;
  if (Number.isInteger(value)) return OVERRIDE_UNITS[value as number] ?? 'UNKNOWN';
  throw invalid('unit', `one of ${OVERRIDE_UNITS.join(', ')}`);
}

/** The fields of a message by their names in camelCase. Null is as good as left out. */
function message<Name extends string>(value: unknown, known: readonly Name[]): Partial<Record<Name, unknown>> {
  if (!isFields(value)) throw invalid('message', 'an object');
  const fields: Partial<Record<Name, unknown>> = {};
  const seen = new Set<Name>();
  for (const [given, field] of Object.entries(value)) {
    const name = known.find((name) => given === name || given === snakeCase(name));
    if (name === undefined) throw new ServiceError(`unknown field "${given.slice(0, 60)}"`);
    if (seen.has(name)) throw new ServiceError(`duplicate field "${name}"`);
    seen.add(name);
    if (field !== null) fields[name] = field;
  }
  return fields;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function text(value: unknown, field: string): string {
  if (value === undefined) return '';
  if (typeof value === 'string' && !HALF_CHARACTER.test(value)) return value;
  throw invalid(field, 'a text');
}

/** Half of a character that takes two: no text of protobuf holds one. */
const HALF_CHARACTER = /\p{Surrogate}/u;

function list(value: unknown, field: string): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw invalid(field, 'a list');
}

function flag(value: unknown, field: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true;
  throw invalid(field, 'true or false');
}

/** As JSON writes them: without zeros before, and perhaps with an exponent. */
const NUMBER = /^(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number, or a text of one. */
function whole(value: unknown, field: string, most: number): number {
  if (value === undefined) return 0;
  const number = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
  if (Number.isInteger(number) && (number as number) >= 0 && (number as number) <= most) return number as number;
  throw invalid(field, `a whole number from 0 to ${most}`);
}

function invalid(field: string, expected: string): ServiceError {
  return new ServiceError(`invalid value for field ${field}: expected ${expected}`);
}

export function responseJson({
  overallCode,
  statuses,
  responseHeadersToAdd,
  requestHeadersToAdd,
  dynamicMetadata,
}: RateLimitResponse): object {
  return {
    overallCode,
    statuses: statuses.map(statusJson),
    ...(responseHeadersToAdd.length === 0 ? {} : { responseHeadersToAdd }),
    ...(requestHeadersToAdd.length === 0 ? {} : { requestHeadersToAdd }),
    ...(dynamicMetadata === undefined ? {} : { dynamicMetadata }),
  };
}

function statusJson({ code, currentLimit, limitRemaining, durationUntilReset }: DescriptorStatus): object {
  return {
    code,
    ...(currentLimit === undefined ? {} : { currentLimit: withoutEmpty(currentLimit) }),
    ...(limitRemaining === 0 ? {} : { limitRemaining }),
    ...(durationUntilReset === undefined ? {} : { durationUntilReset: `${durationUntilReset}s` }),
  };
}

function withoutEmpty(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== 0 && value !== '' && value !== 'UNKNOWN'),
  );
}
