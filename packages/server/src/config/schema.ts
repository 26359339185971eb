/**
 * The JSON schema of a config, for editors. It knows the form of each value; what needs two places at once (a policy that is named and not
 * there, two overrides of one key) only `sluice check` knows. Tests hold the two together.
 */
import { JWT_ALGORITHMS } from './jwt.ts';
import { MOMENT } from './read-overrides.ts';
import { FIELDS, NUMBERS, POLICY_NAME } from './read-policies.ts';

type Schema = Readonly<Record<string, unknown>>;

const WHOLE: Schema = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const DURATION: Schema = {
  description: 'Milliseconds, or text such as 250ms, 10s, 1m, 1h, 1d.',
  oneOf: [
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'string', pattern: '^\\d+(\\.\\d+)?(ms|s|m|h|d)$' },
  ],
};
const RATE: Schema = {
  description: 'Units a second, or text such as 10/s, 600/m.',
  oneOf: [
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'string', pattern: '^\\d+(\\.\\d+)?/(ms|s|m|h|d)$' },
  ],
};
const NUMBER_SCHEMAS: Readonly<Record<string, Schema>> = {
  limit: WHOLE,
  capacity: WHOLE,
  window: DURATION,
  period: DURATION,
  refillRate: RATE,
  leakRate: RATE,
};
const EXTRAS: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
  'fixed-window': { align: { enum: ['epoch', 'first'] } },
  'leaky-bucket': { mode: { enum: ['policing', 'shaping'] } },
};
/** Fields that have a default. */
const OPTIONAL: Readonly<Record<string, readonly string[]>> = { gcra: ['capacity'] };

const numbersOf = (fields: readonly string[]): Schema =>
  Object.fromEntries(fields.map((field) => [field, NUMBER_SCHEMAS[field]]));

function mapOf(properties: Schema, required: readonly string[] = []): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

function policySchema(algorithm: string, fields: readonly string[]): Schema {
  const numbers = numbersOf(fields);
  const changed = { ...mapOf(numbers), minProperties: 1 };
  return mapOf(
    {
      algorithm: { const: algorithm },
      ...numbers,
      ...EXTRAS[algorithm],
      plans: { type: 'object', description: 'Other numbers by plan.', additionalProperties: changed },
      shadow: { type: 'boolean', description: 'Count and report, and never deny.' },
    },
    ['algorithm', ...fields.filter((field) => OPTIONAL[algorithm]?.includes(field) !== true)],
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
    limits: { ...mapOf(numbersOf(NUMBERS)), minProperties: 1 },
    until: { type: 'string', pattern: MOMENT.source },
    reason: text('For people.'),
  },
  ['key', 'policy', 'limits'],
);

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

export const CONFIG_SCHEMA: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Sluice policies',
  ...mapOf({
    policies: {
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: POLICY_NAME.source },
      additionalProperties: {
        oneOf: Object.entries(FIELDS).map(([algorithm, fields]) => policySchema(algorithm, fields)),
      },
    },
    rules: { type: 'array', items: { oneOf: [LIMITED_RULE, UNLIMITED_RULE] } },
    overrides: { type: 'array', items: OVERRIDE },
    trustedProxies: {
      description: 'How many proxies stand in front, or their addresses and networks.',
      oneOf: [
        { type: 'integer', minimum: 0, maximum: 16 },
        { type: 'array', items: { type: 'string' } },
      ],
    },
    jwt: JWT,
  }),
};
