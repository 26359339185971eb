/**
 * The JSON schema of a config, for editors. It knows the form of each value; what needs two places at once (a policy that is named and not
 * there, two overrides of one key) only `sluice check` knows. Tests hold the two together.
 */
import type { Field, TextField } from 'sluice/algorithm';
import { ALGORITHM_NAMES, fieldsOf, isNumber, NUMBERS } from '../files/algorithms.ts';
import { JWT_ALGORITHMS } from './jwt.ts';
import { FILE_KINDS } from './read-exceptions.ts';
import { MOMENT } from './read-overrides.ts';
import { POLICY_NAME, WORDS } from './read-policies.ts';
import { BLANKETS, STRATEGIES } from './read-quotas.ts';

type Schema = Readonly<Record<string, unknown>>;

const LENGTH = '\\d+(\\.\\d+)? ?(ms|min|[smhdw])';
const DURATION = {
  oneOf: [
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'string', pattern: `^${LENGTH}( ?${LENGTH})*$` },
  ],
};
const RATE: Schema = {
  oneOf: [
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'string', pattern: `^\\d+(\\.\\d+)?/(ms|min|[smhdw]|${LENGTH}( ?${LENGTH})*)$` },
  ],
};

function fieldSchema(field: Field): Schema {
  const { about: description } = field;
  switch (field.kind) {
    case 'count':
      return { description, type: 'integer', minimum: 1, maximum: field.max ?? Number.MAX_SAFE_INTEGER };
    case 'duration':
      return { description: `${description} Milliseconds, or text such as 250ms, 10s, 15min, 1h30m, 1w.`, ...DURATION };
    case 'rate':
      return { description: `${description} Units a second, or text such as 10/s, 100/min, 1/5s.`, ...RATE };
    case 'choice':
      return { description, enum: field.of };
    case 'text':
      return { description, ...textSchema(field) };
  }
}

function textSchema({ pattern, orNumberTo }: TextField): Schema {
  const text = { type: 'string', pattern };
  return orNumberTo === undefined ? text : { oneOf: [text, { type: 'integer', minimum: 1, maximum: orNumberTo }] };
}

function fieldSchemas(fields: Iterable<readonly [string, Field]>): Schema {
  return Object.fromEntries([...fields].map(([name, field]) => [name, fieldSchema(field)]));
}

/** What a number may be under some algorithm. Which one it is, only the policy knows. */
function numberSchemas(): Schema {
  const ofAny = [...NUMBERS].map(([name, { kind }]): [string, Schema] => {
    if (kind === 'duration') return [name, DURATION];
    return [name, kind === 'rate' ? RATE : { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }];
  });
  return Object.fromEntries(ofAny);
}

/** Whether it must be given. */
function isRequired(field: Field): boolean {
  if (field.kind === 'choice') return field.required === true;
  return field.kind !== 'text' && (field.kind !== 'count' || field.same === undefined);
}

function mapOf(properties: Schema, required: readonly string[] = []): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

function policySchema(algorithm: string): Schema {
  const fields = fieldsOf(algorithm);
  const numbers = { ...mapOf(fieldSchemas(fields.filter(([, field]) => isNumber(field)))), minProperties: 1 };
  const changed = { oneOf: [numbers, { enum: WORDS }] };
  return mapOf(
    {
      algorithm: { const: algorithm },
      ...fieldSchemas(fields),
      plans: {
        type: 'object',
        description: 'Other numbers by plan, or unlimited, or nothing.',
        additionalProperties: changed,
      },
      blockFor: {
        description: 'Who exceeds it is blocked for so long; with first and most, twice as long each time.',
        oneOf: [...DURATION.oneOf, mapOf({ first: DURATION, most: DURATION, forget: DURATION }, ['first'])],
      },
      visible: { type: 'boolean', description: 'false keeps it out of headers and of the body of a 429.' },
      shadow: { type: 'boolean', description: 'Count and report, and never deny.' },
    },
    ['algorithm', ...fields.filter(([, field]) => isRequired(field)).map(([name]) => name)],
  );
}

const text = (description: string): Schema => ({ type: 'string', minLength: 1, description });
const oneOrMore = (item: Schema): Schema => ({ oneOf: [item, { type: 'array', items: item, minItems: 1 }] });
const POLICY_NAMES = oneOrMore(text('The name of a policy.'));

const VALUES: Schema = {
  description: 'A value, the beginning of one (abc*), true for "is there", false for "is not".',
  type: 'object',
  additionalProperties: { type: ['string', 'boolean'] },
};

const MATCH: Schema = mapOf({
  method: oneOrMore({ type: 'string', pattern: '^[A-Za-z-]+$' }),
  path: oneOrMore({ type: 'string', pattern: '^(/(\\*|[^*/]*))*(/\\*\\*)?$', minLength: 1 }),
  header: VALUES,
  claim: VALUES,
});

const UNLIMITED_RULE: Schema = mapOf({ name: text('For explanations.'), match: MATCH, unlimited: { const: true } }, [
  'unlimited',
]);

const LIMITED_RULE: Schema = {
  ...mapOf(
    {
      name: text('For explanations.'),
      match: MATCH,
      unlimited: { const: false },
      key: text(
        'ip, route, anonymous, everyone, header:NAME, claim:NAME; + makes one key of several, | takes the first there is.',
      ),
      policy: POLICY_NAMES,
      policies: POLICY_NAMES,
      cost: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      plan: { type: 'string', pattern: "^(header:[\\w!#$%&'*+.^`|~-]+|claim:.+)$" },
    },
    ['key'],
  ),
  oneOf: [{ required: ['policy'] }, { required: ['policies'] }],
};

const OVERRIDE: Schema = mapOf(
  {
    key: text('Whose, exactly as the state is kept: `sluice explain` says it.'),
    policy: text('The name of a policy.'),
    limits: { oneOf: [{ ...mapOf(numberSchemas()), minProperties: 1 }, { enum: WORDS }] },
    until: { type: 'string', pattern: MOMENT.source },
    reason: text('For people.'),
  },
  ['key', 'policy', 'limits'],
);

const EXCEPTION: Schema = {
  ...mapOf(
    {
      kind: { enum: FILE_KINDS, description: 'exempt: everything is allowed. deny: nothing is.' },
      key: { ...text('A key, exactly.'), maxLength: 1024 },
      prefix: { ...text('All keys that begin so.'), maxLength: 256 },
      network: text('All keys that are addresses of it, such as ip:203.0.113.7.'),
      until: { type: 'string', pattern: MOMENT.source },
      reason: { ...text('For people.'), maxLength: 200 },
    },
    ['kind'],
  ),
  oneOf: [{ required: ['key'] }, { required: ['prefix'] }, { required: ['network'] }],
};

const JWT_KEY: Schema = {
  ...mapOf(
    {
      algorithm: { enum: JWT_ALGORITHMS },
      key: text('A public key in PEM, or a secret; better in a variable.'),
      env: text('The variable that holds it.'),
      kid: text('Its id: only for tokens that name no other.'),
    },
    ['algorithm'],
  ),
  oneOf: [{ required: ['key'] }, { required: ['env'] }],
};

const JWT: Schema = {
  description: 'Where the token of a request is, and who may have signed it: for claim:NAME in rules.',
  ...mapOf({
    from: { type: 'string', pattern: "^header:[\\w!#$%&'*+.^`|~-]+$" },
    keys: { type: 'array', items: JWT_KEY, minItems: 1 },
    unverified: { type: 'boolean', description: 'The gateway has verified it before.' },
    issuer: text('Who has to have issued it.'),
    audience: text('For whom it has to be.'),
  }),
  oneOf: [{ required: ['keys'] }, { required: ['unverified'], properties: { unverified: { const: true } } }],
};

const QUOTA: Schema = {
  description: "Which buckets of Envoy's quota service (RLQS) share which policy.",
  ...mapOf(
    {
      domain: text('Only for this domain.'),
      match: { type: 'object', additionalProperties: { type: 'string', minLength: 1 } },
      policy: text('The policy that all proxies share for a bucket.'),
      blanket: { enum: BLANKETS, description: 'In place of a policy: everything, or nothing.' },
      ttl: DURATION,
      idle: DURATION,
      strategy: { enum: STRATEGIES },
    },
    ['match'],
  ),
  oneOf: [{ required: ['policy'] }, { required: ['blanket'] }],
};

export const CONFIG_SCHEMA: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Sluice policies',
  ...mapOf({
    policies: {
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: POLICY_NAME.source },
      additionalProperties: {
        oneOf: ALGORITHM_NAMES.map(policySchema),
      },
    },
    rules: { type: 'array', items: { oneOf: [LIMITED_RULE, UNLIMITED_RULE] } },
    overrides: { type: 'array', items: OVERRIDE },
    exceptions: { type: 'array', items: EXCEPTION },
    trustedProxies: {
      description: 'How many proxies stand in front, or their addresses and networks.',
      oneOf: [
        { type: 'integer', minimum: 0, maximum: 16 },
        { type: 'array', items: { type: 'string' } },
      ],
    },
    jwt: JWT,
    quotas: { type: 'array', items: QUOTA },
  }),
};
