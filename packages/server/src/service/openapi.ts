/** The description of the API (OpenAPI 3.1), served at /openapi.json. A test asks every route it names, and holds the answers against it. */
import { MAX_KEY_LENGTH, MAX_POLICIES } from './ask.ts';
import { MAX_ITEMS } from './batch.ts';
import { MAX_SECONDS } from './live.ts';
import { MAX_TOP } from './live-view.ts';
import { MAX_ENTRIES } from './verbs.ts';

export type Schema = Readonly<Record<string, unknown>>;
/** Operations by method, by path. */
export type Paths = Readonly<Record<string, Schema>>;

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const NUMBER: Schema = { type: 'number' };
const NUMBER_OR_NULL: Schema = { type: ['number', 'null'] };
const UNITS: Schema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const COST: Schema = {
  oneOf: [UNITS, { type: 'object', additionalProperties: UNITS, minProperties: 1 }],
  default: 1,
  description:
    'One number for all policies, or an object with a number for each policy by name. Then name every policy.',
};
export const content = (schema: Schema, type = 'application/json'): Schema => ({ [type]: { schema } });
export const object = (properties: Schema, required: readonly string[], more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  required,
  ...more,
});

const SUBJECT: Schema = {
  key: { type: 'string', minLength: 1, maxLength: MAX_KEY_LENGTH, description: 'Who is limited.' },
  policy: {
    oneOf: [{ type: 'string' }, ref('Policy')],
    description: 'The name of a configured policy, or an inline policy.',
  },
  policies: {
    type: 'array',
    minItems: 1,
    maxItems: MAX_POLICIES,
    items: { oneOf: [{ type: 'string' }, ref('Policy')] },
    description: 'Several policies, instead of `policy`: the attempt spends from all of them or from none.',
  },
  plan: { type: 'string', description: 'Which numbers of a configured policy apply.' },
};

/** One or several, never both, and nothing unknown. */
const ABOUT_POLICIES: Schema = {
  additionalProperties: false,
  oneOf: [{ required: ['policy'] }, { required: ['policies'] }],
};

const DECISION: Schema = {
  policy: { type: 'string' },
  allowed: { type: 'boolean' },
  limit: { ...NUMBER_OR_NULL, description: 'Null when it is unlimited.' },
  remaining: {
    ...NUMBER_OR_NULL,
    description: 'Whole units that would be allowed right now. Null when it is unlimited.',
  },
  retryAfter: {
    ...NUMBER_OR_NULL,
    description:
      'Seconds until the same cost would be allowed. Null when it is allowed, and when it can never be allowed.',
  },
  resetAfter: { ...NUMBER, description: 'Seconds until the key is fully reset.' },
  resetAt: { ...NUMBER, description: 'The same as Unix time in seconds.' },
  delay: { ...NUMBER_OR_NULL, description: 'Seconds to wait before acting (shaping).' },
};
const RESULT: Schema = {
  ...DECISION,
  decisions: { type: 'array', items: ref('Decision') },
  source: { type: 'string', description: 'Who answered: store, deny-cache, fallback, shadow.' },
};
const RESULT_FIELDS = Object.keys(RESULT);

const SHARE: Schema = { type: 'number', minimum: 0, maximum: 1 };
const LIVE_REQUESTS: Schema = {
  allowed: NUMBER,
  denied: NUMBER,
  allowedPerSecond: NUMBER,
  deniedPerSecond: NUMBER,
  deniedShare: SHARE,
};
const LIVE_POLICY: Schema = {
  name: { type: 'string' },
  shadow: { type: 'boolean', description: 'A dry run: it denies nobody, and `wouldDeny` counts.' },
  limits: { type: ['object', 'null'], description: 'Its numbers; null for policies that are not in the config.' },
  ...LIVE_REQUESTS,
  deniedByOthers: { ...NUMBER, description: 'It would have allowed these; another policy denied them.' },
  wouldDeny: { ...NUMBER, description: 'Of those allowed: what it would deny if it were enforced.' },
  wouldDenyPerSecond: NUMBER,
  wouldDenyShare: SHARE,
};
const LIVE_SECOND: Schema = {
  second: { type: 'integer', description: 'Its number: the same second has the same number in every answer.' },
  at: { ...NUMBER, description: 'Unix time at which the second ended.' },
  requests: object({ allowed: NUMBER, denied: NUMBER }, ['allowed', 'denied']),
  policies: { type: 'object', description: 'Counts by policy.' },
  fallbackShare: SHARE,
};
const LIVE_KEY: Schema = {
  policy: { type: 'string' },
  key: { type: 'string' },
  count: { ...NUMBER, description: 'Decisions, at most `error` too many.' },
  error: NUMBER,
};
const LIVE_STORE: Schema = {
  p50Ms: { ...NUMBER_OR_NULL, description: 'Null when the store itself has answered nothing.' },
  p99Ms: NUMBER_OR_NULL,
  fallbackShare: SHARE,
  state: { enum: ['up', 'down'] },
  since: { ...NUMBER, description: 'Since when, as Unix time in seconds.' },
  description: { type: 'string' },
};
const LIVE_KEYS: Schema = { type: 'array', items: object(LIVE_KEY, Object.keys(LIVE_KEY)) };
const LIVE: Schema = {
  at: { ...NUMBER, description: 'Unix time in seconds.' },
  seconds: { ...NUMBER, description: 'The length of the period that the numbers cover, up to now.' },
  requests: object(LIVE_REQUESTS, Object.keys(LIVE_REQUESTS)),
  policies: { type: 'array', items: object(LIVE_POLICY, Object.keys(LIVE_POLICY)) },
  store: object(LIVE_STORE, Object.keys(LIVE_STORE)),
  top: object({ denied: LIVE_KEYS, busiest: LIVE_KEYS, wouldDeny: LIVE_KEYS }, ['denied', 'busiest', 'wouldDeny']),
  history: { type: 'array', items: object(LIVE_SECOND, Object.keys(LIVE_SECOND)) },
};

const WORKERS = {
  ...object({ count: { type: 'integer' }, silent: { type: 'array', items: { type: 'integer' } } }, ['count', 'silent']),
  description:
    'The workers whose numbers these are. Silent ones did not answer in time and are not included. Only with several workers.',
};

const EXCEPTION: Schema = {
  kind: { enum: ['exempt', 'deny', 'override', 'block'] },
  key: { type: 'string', description: 'Who it applies to: a key,' },
  prefix: { type: 'string', description: 'or all keys that begin with this text,' },
  network: { type: 'string', description: 'or all keys that are addresses in this network, such as 10.0.0.0/8.' },
  policy: {
    type: 'string',
    description: 'For an override: the policy whose numbers change. Default: all policies that have these numbers.',
  },
  numbers: { type: 'object', description: 'For an override: the numbers that apply instead.' },
  until: { type: 'string', description: 'When it ends; missing when it does not end.' },
  reason: { type: 'string', description: 'For people.' },
};

const SCHEMAS: Schema = {
  Policy: object({ algorithm: { type: 'string' }, name: { type: 'string' } }, ['algorithm']),
  Ask: object({ ...SUBJECT, cost: COST }, ['key'], ABOUT_POLICIES),
  SpendAsk: object(
    {
      ...SUBJECT,
      cost: {
        ...COST,
        description: `${COST.description} Or { most, least }: spends as much as is left, and \`granted\` says how much that was.`,
      },
      id: {
        type: 'string',
        minLength: 1,
        maxLength: 256,
        description: 'A retry with the same id is not charged again.',
      },
      ttl: {
        type: 'integer',
        minimum: 1,
        maximum: 86_400,
        description: 'How long the id is remembered, in seconds; 600 by default.',
      },
    },
    ['key'],
    ABOUT_POLICIES,
  ),
  RefundAsk: object({ ...SUBJECT, cost: COST, of: ref('Result') }, ['key'], ABOUT_POLICIES),
  Subject: object(SUBJECT, ['key'], ABOUT_POLICIES),
  BlockAsk: object(
    {
      ...SUBJECT,
      duration: { type: ['string', 'number'] },
      reason: { type: 'string', maxLength: 200, description: 'For people: shown in /v1/exceptions.' },
    },
    ['key', 'duration'],
    ABOUT_POLICIES,
  ),
  ReserveAsk: object(
    {
      ...SUBJECT,
      cost: COST,
      ttl: { type: 'integer', minimum: 1, maximum: 3600, description: 'Seconds; 60 by default.' },
    },
    ['key'],
    ABOUT_POLICIES,
  ),
  HistoryAsk: object(
    {
      key: SUBJECT.key,
      policy: SUBJECT.policy,
      plan: SUBJECT.plan,
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: MAX_ENTRIES,
        default: 100,
        description: 'The most entries to return.',
      },
      after: { ...NUMBER, minimum: 0, description: 'Only later entries: `next` of the previous answer.' },
    },
    ['key', 'policy'],
    { additionalProperties: false },
  ),
  SettleAsk: object(
    {
      hold: {
        type: 'string',
        description: 'The hold that reserve returned. Any server with the same store and config can settle it.',
      },
      actual: { ...COST, default: undefined },
      maxDebt: {
        ...COST,
        default: 0,
        description:
          'How far below zero the key may go when more was used than reserved. At most the limit of each policy.',
      },
    },
    ['hold', 'actual'],
    { additionalProperties: false },
  ),
  Decision: object(DECISION, Object.keys(DECISION)),
  Result: object(RESULT, RESULT_FIELDS),
  Changed: object({ ...RESULT, changed: NUMBER }, [...RESULT_FIELDS, 'changed']),
  History: object(
    {
      policy: { type: 'string' },
      entries: {
        type: 'array',
        maxItems: MAX_ENTRIES,
        items: object({ at: { ...NUMBER, description: 'Unix time in seconds.' }, cost: NUMBER }, ['at', 'cost']),
        description: 'What was allowed within the window, oldest first.',
      },
      next: { ...NUMBER_OR_NULL, description: 'Send it as `after` to get more; null when there is no more.' },
    },
    ['policy', 'entries', 'next'],
  ),
  Exception: object(EXCEPTION, ['kind']),
  ExceptionAsk: object(
    {
      ...EXCEPTION,
      kind: { enum: ['exempt', 'deny', 'override'] },
      for: { type: ['string', 'number'], description: 'How long.' },
    },
    ['kind'],
    { additionalProperties: false },
  ),
  Exceptions: object(
    {
      exceptions: { type: 'array', items: ref('Exception') },
      current: { type: 'boolean', description: 'False while the list cannot be read: the last known list applies.' },
    },
    ['exceptions', 'current'],
  ),
  Removed: object({ removed: { type: 'integer' } }, ['removed']),
  Reset: object({ reset: { const: true } }, ['reset']),
  PermitAsk: object({ permit: { type: 'string', description: 'The permit that enter returned.' } }, ['permit'], {
    additionalProperties: false,
  }),
  Entered: object(
    {
      ...RESULT,
      permit: { type: ['string', 'null'], description: 'Send it to release or extend, to any server of the store.' },
    },
    [...RESULT_FIELDS, 'permit'],
  ),
  Extended: object({ extended: { type: 'boolean', description: 'False when the permit is lost.' } }, ['extended']),
  Released: object({ released: { type: 'boolean', description: 'False when there was nothing to release.' } }, [
    'released',
  ]),
  Reserved: object({ ...RESULT, hold: { type: ['string', 'null'] }, cost: COST }, [...RESULT_FIELDS, 'hold', 'cost']),
  Settled: object({ ...RESULT, changed: NUMBER, missing: NUMBER, expired: { type: 'boolean' } }, [
    ...[...RESULT_FIELDS, 'changed', 'missing', 'expired'],
  ]),
  Live: object({ ...LIVE, workers: WORKERS }, Object.keys(LIVE)),
  RateLimitRequest: object({ domain: { type: 'string' }, descriptors: { type: 'array' } }, ['domain', 'descriptors']),
  RateLimitResponse: object(
    {
      overallCode: { enum: ['OK', 'OVER_LIMIT'] },
      statuses: { type: 'array', items: object({ code: { enum: ['OK', 'OVER_LIMIT'] } }, ['code']) },
    },
    ['overallCode', 'statuses'],
  ),
  Error: object(
    {
      error: { type: 'string', description: 'A code for programs.' },
      message: { type: 'string' },
      path: { type: 'string', description: 'The field that is wrong.' },
      requestId: { type: 'string' },
    },
    ['error', 'message'],
  ),
  Problem: object({ type: { type: 'string' }, title: { type: 'string' }, status: { type: 'integer' } }, [
    ...['type', 'title', 'status'],
  ]),
};

export const FAILURE: Schema = { description: 'What was wrong, and with which field.', content: content(ref('Error')) };

/** Where everything is protected it needs the token. */
const PERHAPS_TOKEN: readonly Schema[] = [{}, { token: [] }];

interface VerbDescription {
  readonly summary: string;
  readonly ask: string;
  readonly answer: string;
  readonly needsToken?: boolean;
}

function verb({ summary, ask, answer, needsToken = false }: VerbDescription): Schema {
  const listOf = (item: Schema): Schema => ({ type: 'array', items: item, minItems: 1, maxItems: MAX_ITEMS });
  const body = { oneOf: [ref(ask), listOf(ref(ask))] };
  const result = { oneOf: [ref(answer), listOf({ oneOf: [ref(answer), ref('Error')] })] };
  return {
    post: {
      summary,
      security: needsToken ? [{ token: [] }] : PERHAPS_TOKEN,
      requestBody: { required: true, content: content(body) },
      responses: {
        200: {
          description: 'The answer; for a list of questions, a list of answers in the same order.',
          content: content(result),
        },
        '4XX': FAILURE,
        '5XX': FAILURE,
      },
    },
  };
}

export const parameter = (
  name: string,
  place: string,
  description: string,
  schema: Schema = { type: 'string' },
): Schema => ({
  name,
  in: place,
  description,
  schema,
  ...(place === 'path' ? { required: true } : {}),
});

const DENY = parameter(
  'deny',
  'query',
  '403 for gateways that know no 429 (nginx); the body is then also in the header X-Sluice-Problem.',
  { enum: ['403', '429'] },
);

/** A problem, or the short form for those who accept only that. */
const DENIAL: Schema = { ...content(ref('Problem'), 'application/problem+json'), ...content(ref('Error')) };

function check(summary: string, parameters: readonly Schema[]): Schema {
  const operation = {
    summary,
    security: PERHAPS_TOKEN,
    parameters: [...parameters, DENY],
    responses: {
      200: {
        description: 'Allowed: send the request on. Has RateLimit headers.',
        content: content({ type: 'object' }),
      },
      403: { description: 'Denied, with deny=403.', content: DENIAL },
      429: { description: 'Denied.', content: DENIAL },
      503: {
        description: 'The store is away, the request was not counted, and there is no fallback.',
        content: DENIAL,
      },
      '4XX': FAILURE,
      '5XX': FAILURE,
    },
  };
  return { get: operation, post: operation };
}

/** A route that does not look at the method. */
function everyMethod(operation: Schema): Schema {
  return { get: operation, post: operation, put: operation, patch: operation, delete: operation };
}

function page(summary: string, type: string, schema: Schema, more: Schema = {}): Schema {
  const responses = { 200: { description: 'It.', content: content(schema, type) }, ...more, '4XX': FAILURE };
  return { get: { summary, security: PERHAPS_TOKEN, responses } };
}

/** Health checks are open to all, and say "no" by their status. */
function health(summary: string, type: string, schema: Schema, no: Schema): Schema {
  const { get } = page(summary, type, schema, no) as { get: Schema };
  return { get: { ...get, security: [{}] } };
}

const READINESS: Schema = object(
  { ready: { type: 'boolean' }, draining: { type: 'boolean' }, store: { enum: ['up', 'down'] } },
  ['ready', 'draining', 'store'],
);

const HISTORY_ANSWERS: Schema = {
  security: [{ token: [] }],
  responses: { 200: { description: 'It.', content: content(ref('History')) }, '4XX': FAILURE, '5XX': FAILURE },
};
const HISTORY: Schema = {
  get: {
    summary: 'Lists the attempts that a sliding window log has allowed, and when.',
    parameters: [
      parameter('key', 'query', 'Whose.'),
      parameter('policy', 'query', 'The name of a configured policy.'),
      parameter('plan', 'query', 'Which numbers apply.'),
      parameter('limit', 'query', 'The most entries to return; 100 by default.', {
        type: 'integer',
        minimum: 1,
        maximum: MAX_ENTRIES,
      }),
      parameter('after', 'query', 'Only later entries: next of the previous answer.', NUMBER),
    ],
    ...HISTORY_ANSWERS,
  },
  post: {
    summary: 'The same, also for an inline policy.',
    requestBody: { required: true, content: content(ref('HistoryAsk')) },
    ...HISTORY_ANSWERS,
  },
};

const EXCEPTION_ANSWERS = (name: string): Schema => ({
  security: [{ token: [] }],
  responses: { 200: { description: 'It.', content: content(ref(name)) }, '4XX': FAILURE, '5XX': FAILURE },
});
const EXCEPTIONS: Schema = {
  get: {
    summary: 'Lists the keys that are exempt, denied or blocked, or have other numbers, on every server of this store.',
    parameters: [parameter('key', 'query', 'Only what applies to this key, the most specific first.')],
    ...EXCEPTION_ANSWERS('Exceptions'),
  },
  post: {
    summary: 'Exempts or denies keys, or gives them other numbers. Every server sees the change within a second.',
    requestBody: { required: true, content: content(ref('ExceptionAsk')) },
    ...EXCEPTION_ANSWERS('Exception'),
  },
  delete: {
    summary: 'Ends the exceptions of exactly this subject. Blocks end with /v1/unblock.',
    parameters: ['key', 'prefix', 'network'].map((name) => parameter(name, 'query', 'One of the three.')),
    ...EXCEPTION_ANSWERS('Removed'),
  },
};

export const OPENAPI = {
  openapi: '3.1.0',
  info: {
    title: 'Sluice',
    version: '1',
    description: 'Rate limits as a service. Times are in seconds. A denial has status 200, except under /v1/check.',
  },
  components: { schemas: SCHEMAS, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/v1/attempt': verb({
      summary: 'Checks whether a key may spend this cost now, and spends it.',
      ask: 'SpendAsk',
      answer: 'Result',
    }),
    '/v1/peek': verb({
      summary: 'Shows what an attempt would get; spends nothing.',
      ask: 'SpendAsk',
      answer: 'Result',
    }),
    '/v1/reserve': verb({
      summary: 'Spends an estimate and returns the hold to settle.',
      ask: 'ReserveAsk',
      answer: 'Reserved',
    }),
    '/v1/settle': verb({
      summary: 'Settles a hold with what was used; 0 cancels.',
      ask: 'SettleAsk',
      answer: 'Settled',
    }),
    '/v1/enter': verb({
      summary: 'Takes a place under a concurrency limit, until it is released or its ttl ends.',
      ask: 'Ask',
      answer: 'Entered',
    }),
    '/v1/extend': verb({
      summary: 'Extends a permit by a whole ttl from now.',
      ask: 'PermitAsk',
      answer: 'Extended',
    }),
    '/v1/release': verb({ summary: 'Gives a place back.', ask: 'PermitAsk', answer: 'Released' }),
    '/v1/refund': verb({ summary: 'Gives back units.', ask: 'RefundAsk', answer: 'Changed', needsToken: true }),
    '/v1/penalize': verb({
      summary: 'Spends units even if fewer are left, down to zero.',
      ask: 'Ask',
      answer: 'Changed',
      needsToken: true,
    }),
    '/v1/exceptions': EXCEPTIONS,
    '/v1/history': HISTORY,
    '/v1/reset': verb({
      summary: 'Resets a key: forgets what it has spent, and its block.',
      ask: 'Subject',
      answer: 'Reset',
      needsToken: true,
    }),
    '/v1/block': verb({
      summary: 'Denies every attempt of a key for a while.',
      ask: 'BlockAsk',
      answer: 'Result',
      needsToken: true,
    }),
    '/v1/unblock': verb({ summary: 'Ends a block.', ask: 'Subject', answer: 'Result', needsToken: true }),
    '/v1/check/{policy}': check('For gateways: spends from this policy (or several, separated by commas).', [
      parameter('policy', 'path', 'The name of a configured policy.'),
      parameter('key', 'query', 'Who is limited.'),
      parameter('x-sluice-key', 'header', 'The same, in a header.'),
      parameter('by', 'query', 'Or how to find the key: ip, header:NAME, ...'),
      parameter('cost', 'query', 'Units to spend.', { ...UNITS, default: 1 }),
      parameter('plan', 'query', 'Which numbers apply.'),
    ]),
    '/v1/check': check('For gateways: applies the rules of the config to the request that the headers describe.', [
      parameter('x-forwarded-uri', 'header', 'Its path. Or x-original-uri.'),
      parameter('x-forwarded-method', 'header', 'Its method. Or x-original-method.'),
    ]),
    '/healthz': health(
      'Says whether the process runs.',
      'application/json',
      object(
        {
          healthy: { type: 'boolean' },
          worker: { type: 'integer', description: 'The worker that answered, when there are several.' },
        },
        ['healthy'],
      ),
      {},
    ),
    '/readyz': health(
      'Says whether the server is ready: 503 while it drains, or when the store is away and there is no fallback.',
      'application/json',
      READINESS,
      { 503: { description: 'Not now.', content: content(READINESS) } },
    ),
    '/json': everyMethod({
      summary: 'ShouldRateLimit of Envoy, as JSON. The answer is OK for 200 and OVER_LIMIT for 429.',
      security: PERHAPS_TOKEN,
      requestBody: { required: true, content: content(ref('RateLimitRequest')) },
      responses: {
        200: { description: 'OK.', content: content(ref('RateLimitResponse')) },
        429: { description: 'OVER_LIMIT.', content: content(ref('RateLimitResponse')) },
        400: {
          description: 'The message is invalid, or the store failed.',
          content: content({ type: 'string' }, 'text/plain'),
        },
        '4XX': FAILURE,
      },
    }),
    '/healthcheck': health(
      'The same as /readyz, in the form of envoyproxy/ratelimit.',
      'text/plain',
      { const: 'OK' },
      { 500: { description: 'Not now.', content: content({ type: 'string' }, 'text/plain') } },
    ),
    '/rlconfig': page('The limits for Envoy, one per line.', 'text/plain', { type: 'string' }),
    '/metrics': page('Metrics for Prometheus.', 'text/plain', { type: 'string' }),
    '/v1/live': {
      get: {
        summary:
          'The last seconds: requests, decisions by policy, the most denied and the busiest keys, how fast the store is.',
        security: [{ token: [] }],
        parameters: [
          parameter('seconds', 'query', 'How far back; 10 by default.', {
            type: 'integer',
            minimum: 1,
            maximum: MAX_SECONDS,
          }),
          parameter('top', 'query', 'The most keys of each kind; 20 by default.', {
            type: 'integer',
            minimum: 1,
            maximum: MAX_TOP,
          }),
          parameter('history', 'query', 'How many seconds one by one; none by default.', {
            type: 'integer',
            minimum: 0,
            maximum: MAX_SECONDS,
          }),
        ],
        responses: { 200: { description: 'It.', content: content(ref('Live')) }, '4XX': FAILURE },
      },
    },
    '/openapi.json': page('This description.', 'application/json', { type: 'object' }),
  } as Paths,
};

/** With what is served beside the limits. */
export function openApi(beside: Paths = {}): object {
  return { ...OPENAPI, paths: { ...OPENAPI.paths, ...beside } };
}
