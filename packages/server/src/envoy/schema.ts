/**
 * The JSON schema of files for Envoy, for editors. It is a little stricter than the reader: what is known at one place and ignored at
 * another, as the reference server does, an editor had better show. What needs two places at once only `sluice check` knows.
 */
import { OF_NUMBERS_ALONE } from '../files/algorithms.ts';
import { hasCapacity, MAX_REQUESTS } from './limit.ts';
import { UNITS } from './unit.ts';

type Schema = Readonly<Record<string, unknown>>;

const FLAG: Schema = { type: 'boolean' };
/** Texts may be written as numbers. */
const TEXT: Schema = { type: ['string', 'integer', 'boolean', 'null'] };
const NAME: Schema = { type: ['string', 'integer', 'boolean'], minLength: 1 };
const whole = (minimum: number): Schema => ({ type: 'integer', minimum, maximum: MAX_REQUESTS });

/** In any case, as the reference server takes it. */
const UNIT: Schema = {
  type: 'string',
  pattern: `^(${UNITS.filter((unit) => unit !== 'UNKNOWN')
    .map((unit) => unit.replace(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`))
    .join('|')})$`,
  description: 'second, minute, hour, day, week, month (30 days) or year (365 days).',
};

const isThere = (...fields: readonly string[]): Schema => ({ required: fields });
const isTrue = (field: string): Schema => ({ ...isThere(field), properties: { [field]: { const: true } } });

const implies = (one: Schema, other: Schema): Schema => ({ anyOf: [{ not: one }, other] });

const RATE_LIMIT: Schema = {
  type: 'object',
  properties: {
    unit: UNIT,
    requests_per_unit: { ...whole(0), description: 'How many; 0 denies everything.' },
    unlimited: FLAG,
    name: { ...TEXT, description: 'So that others may replace it.' },
    replaces: {
      type: 'array',
      items: { type: 'object', properties: { name: NAME }, required: ['name'], additionalProperties: false },
      description: 'Names of limits that do not hold in a request in which this one does.',
    },
    algorithm: { enum: OF_NUMBERS_ALONE, description: 'An addition of Sluice. Default: fixed-window.' },
    capacity: { ...whole(1), description: 'An addition of Sluice: how many requests may come at the same time.' },
    burst: { ...whole(1), description: 'Another word for capacity.' },
    period: {
      type: 'string',
      pattern: '^0*[1-9]\\d*(ms|s|m|h|d)$',
      description: 'An addition of Sluice: a time in place of unit, such as 250ms, 90s, 5m.',
    },
    unit_multiplier: { ...whole(1), description: 'An addition of Sluice: several units.' },
    calendar: {
      type: 'boolean',
      description: 'An addition of Sluice: days, weeks, months or years of the calendar, in UTC.',
    },
  },
  additionalProperties: false,
  allOf: [
    implies(isTrue('unlimited'), { not: { anyOf: [isThere('unit'), isThere('period')] } }),
    { anyOf: [isTrue('unlimited'), { oneOf: [isThere('unit'), isThere('period')] }] },
    implies(
      { anyOf: [isThere('capacity'), isThere('burst')] },
      {
        ...isThere('algorithm'),
        properties: { algorithm: { enum: OF_NUMBERS_ALONE.filter(hasCapacity) } },
      },
    ),
    { not: isThere('capacity', 'burst') },
    { not: isThere('period', 'unit_multiplier') },
    implies(isTrue('calendar'), {
      required: ['unit'],
      properties: { unit: { pattern: '^(?:[dD][aA][yY]|[wW][eE][eE][kK]|[mM][oO][nN][tT][hH]|[yY][eE][aA][rR])$' } },
      not: { anyOf: [isThere('unit_multiplier'), isThere('algorithm')] },
    }),
  ],
};

const DESCRIPTORS: Schema = { type: ['array', 'null'], items: { $ref: '#/definitions/descriptor' } };
const HAS_STAR: Schema = { type: 'string', pattern: '\\*' };

const DESCRIPTOR: Schema = {
  type: 'object',
  properties: {
    key: NAME,
    value: { ...TEXT, description: 'Without it: any, each by itself. * stands for any text.' },
    rate_limit: { oneOf: [RATE_LIMIT, { type: 'null' }] },
    shadow_mode: { ...FLAG, description: 'Counts and reports, and never denies.' },
    quota_mode: { ...FLAG, description: 'A request is denied only when all quotas of it are spent.' },
    detailed_metric: { ...FLAG, description: 'Metrics name every value that came.' },
    value_to_metric: { ...FLAG, description: 'Metrics name the value that came in place of the one here.' },
    share_threshold: { ...FLAG, description: 'All values that match the wildcard have one limit together.' },
    metadata: { type: ['object', 'null'] },
    descriptors: DESCRIPTORS,
  },
  required: ['key'],
  additionalProperties: false,
  ...implies(isTrue('share_threshold'), {
    anyOf: [{ ...isThere('value'), properties: { value: HAS_STAR } }, { properties: { key: HAS_STAR } }],
  }),
};

export const ENVOY_SCHEMA: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Limits for Envoy',
  type: 'object',
  properties: { domain: NAME, descriptors: DESCRIPTORS },
  required: ['domain'],
  additionalProperties: false,
  definitions: { descriptor: DESCRIPTOR },
};
