/** The lab's part of /openapi.json. */
import { content, FAILURE, object, type Paths, parameter, ref, type Schema } from '../service/openapi.ts';
import { MAX_COUNT } from './demo.ts';
import { DEMO_ALGORITHMS } from './demo-config.ts';
import { MAX_ATTEMPTS } from './engine-routes.ts';

const NUMBER_OR_NULL: Schema = { type: ['number', 'null'] };
const DEMO_RESULT = object(
  {
    allowed: { type: 'boolean' },
    remaining: { type: 'integer' },
    limit: { type: 'integer' },
    retryAfter: { ...NUMBER_OR_NULL, description: 'Seconds until one more would be allowed. Null when allowed.' },
    delay: { ...NUMBER_OR_NULL, description: 'Seconds to wait before acting (shaping).' },
  },
  ['allowed', 'remaining', 'limit', 'retryAfter', 'delay'],
);
const NUMBER: Schema = { type: 'number' };
const CONFIG = object(
  {
    ...{ maxRequests: { type: 'integer' }, windowSeconds: NUMBER, maxTokens: { type: 'integer' }, refillRate: NUMBER },
    ...{ capacity: { type: 'integer' }, leakRate: NUMBER, mode: { enum: ['policing', 'shaping'] } },
  },
  [],
  {
    additionalProperties: false,
    description: 'Of these, those that the algorithm has. 10 in 10 s, or 10 at 1 a second, by default.',
  },
);
const RESET = object({ reset: { const: true } }, ['reset']);
const RAW = object(
  {
    ...{ key: { type: 'string' }, type: { type: 'string' }, value: { type: 'string' }, reading: { type: 'string' } },
    ...{ ttlMs: { type: ['number', 'null'] }, memoryBytes: { type: ['number', 'null'] } },
  },
  ['key', 'type', 'value', 'reading', 'ttlMs', 'memoryBytes'],
);
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const ATTEMPT = object(
  {
    card: { type: 'string', description: 'Which of the states: cards of one algorithm are kept apart.' },
    ...{ policy: ref('Policy'), key: { type: 'string' }, cost: { type: 'integer', minimum: 0, default: 1 } },
  },
  ['card', 'policy'],
  { additionalProperties: false },
);
const ENGINES = object(
  {
    engines: listOf(
      object({ name: { enum: ['memory', 'redis'] }, available: { type: 'boolean' }, description: { type: 'string' } }, [
        ...['name', 'available', 'description'],
      ]),
    ),
  },
  ['engines'],
);
const OBSERVED = object(
  {
    results: listOf(ref('Result')),
    raw: listOf({ oneOf: [RAW, { type: 'null' }] }),
    commands: {
      ...listOf(NUMBER_OR_NULL),
      description:
        'How many commands Redis carried out for the last attempt on each state; null for the others, whose raw state is null too.',
    },
    commandNames: listOf({ type: ['object', 'null'], additionalProperties: NUMBER }),
  },
  ['results', 'raw', 'commands', 'commandNames'],
);

const ALGORITHM = { ...parameter('algorithm', 'path', 'Which algorithm.', { enum: DEMO_ALGORITHMS }) };

function post(summary: string, body: Schema, answer: Schema, more: Schema = {}): Schema {
  return {
    post: {
      summary,
      ...more,
      security: [{}, { token: [] }],
      requestBody: { required: false, content: content(body) },
      responses: {
        200: { description: 'The answer, also when the request is denied.', content: content(answer) },
        '4XX': FAILURE,
        '5XX': FAILURE,
      },
    },
  };
}

function file(summary: string, types: readonly string[], more: Schema = {}): Schema {
  const files = Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]));
  return { get: { summary, ...more, responses: { 200: { description: 'It.', content: files }, '4XX': FAILURE } } };
}

const EMPTY = object({}, [], { additionalProperties: false });
const COUNT: Schema = { type: 'integer', minimum: 1, maximum: MAX_COUNT, default: 10 };

export const LAB_PATHS: Paths = {
  '/': file('The lab.', ['text/html']),
  '/assets/{file}': file('The assets of the page.', ['text/javascript', 'text/css', 'image/svg+xml', 'font/woff2'], {
    parameters: [parameter('file', 'path', 'Its name, which holds a hash.')],
  }),
  '/api/rate-limit/{algorithm}': post(
    'One request of the demo, for the session of the cookie.',
    object({ config: CONFIG }, [], { additionalProperties: false }),
    DEMO_RESULT,
    { parameters: [ALGORITHM] },
  ),
  '/api/rate-limit/{algorithm}/burst': post(
    'Several requests, answered in order.',
    object({ count: COUNT, config: CONFIG }, [], { additionalProperties: false }),
    listOf(DEMO_RESULT),
    { parameters: [ALGORITHM] },
  ),
  '/api/rate-limit/reset': post('Resets all counters of the session.', EMPTY, RESET),
  '/api/lab/engines': {
    get: {
      summary: 'What the lab can play on.',
      responses: { 200: { description: 'Them.', content: content(ENGINES) }, '4XX': FAILURE },
    },
  },
  '/api/lab/attempt': post(
    'Attempts on an engine, with the state each leaves and the commands it takes.',
    object(
      { engine: { enum: ['memory', 'redis'] }, attempts: { ...listOf(ATTEMPT), minItems: 1, maxItems: MAX_ATTEMPTS } },
      ['engine', 'attempts'],
      { additionalProperties: false },
    ),
    OBSERVED,
  ),
  '/api/lab/reset': post('Forgets every state of the session on every engine.', EMPTY, RESET),
};
