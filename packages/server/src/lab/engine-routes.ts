/** The routes the lab's page plays on: several attempts at once on an engine, for whoever holds the session's cookie. */
import { checkPolicy, type Policy } from 'sluice';
import { ruleOf } from 'sluice/store';
import { isFields, kindOf } from '../files/fields.ts';
import { json } from '../service/answer.ts';
import { keepsEntries, readCost, readItem } from '../service/ask.ts';
import { HttpError, invalidField } from '../service/http-error.ts';
import { readJson, readOptionalJson } from '../service/read-body.ts';
import type { Route } from '../service/routes.ts';
import type { Attempt, Engine } from './engine.ts';
import { MOST_SECONDS, recoverySeconds } from './recovery.ts';
import type { Session, Sessions } from './sessions.ts';

export const MAX_ATTEMPTS = 512;
export const MAX_STATES = 128;
/** A log keeps an entry for each admission. */
const MAX_LOG = 10_000;
const MAX_CARD_LENGTH = 64;
const MAX_KEY_LENGTH = 64;

const NO_STORE = { 'Cache-Control': 'no-store' };

/** `missing` says why an engine is not there. */
export function engineRoutes(
  engines: readonly Engine[],
  missing: Readonly<Record<string, string>>,
  sessions: Sessions,
): Route[] {
  return [
    {
      methods: ['GET'],
      path: '/api/lab/engines',
      access: 'use',
      handle: async () => json(200, { engines: listOf(engines, missing) }, NO_STORE),
    },
    {
      methods: ['POST'],
      path: '/api/lab/attempt',
      access: 'use',
      async handle({ request }, { bodyLimits }) {
        const { engine: name, attempts } = readItem(await readJson(request, bodyLimits), '', ['engine', 'attempts']);
        const engine = engineOf(name, engines, missing);
        const cards = readAttempts(attempts);
        const { session, headers } = sessions.of(request);
        const own = cards.map((attempt) => inSession(attempt, session));
        remember(own, engine, session);
        const observed = await engine.attempt(own);
        const body = {
          results: observed.map(({ result }) => result),
          raw: observed.map(({ raw }) => raw),
          commands: observed.map(({ commands }) => commands && sumOf(Object.values(commands))),
          commandNames: observed.map(({ commands }) => commands),
        };
        return json(200, body, { ...NO_STORE, ...headers });
      },
    },
    {
      methods: ['POST'],
      path: '/api/lab/reset',
      access: 'use',
      async handle({ request }, { bodyLimits }) {
        readItem((await readOptionalJson(request, bodyLimits)) ?? {}, '', []);
        const { session, headers } = sessions.of(request);
        const states = [...session.leftovers].filter(([name]) => name.startsWith(STATE));
        await Promise.all(states.map(([, forget]) => forget()));
        for (const [name] of states) session.leftovers.delete(name);
        return json(200, { reset: true }, { ...NO_STORE, ...headers });
      },
    },
  ];
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function listOf(engines: readonly Engine[], missing: Readonly<Record<string, string>>) {
  return [
    ...engines.map(({ name, description }) => ({ name, available: true, description })),
    ...Object.entries(missing).map(([name, description]) => ({ name, available: false, description })),
  ];
}

function engineOf(name: unknown, engines: readonly Engine[], missing: Readonly<Record<string, string>>): Engine {
  const engine = engines.find((known) => known.name === name);
  if (engine !== undefined) return engine;
  const why = typeof name === 'string' && Object.hasOwn(missing, name) ? `${name}: ${missing[name]}` : kindOf(name);
  throw invalidField('engine', engines.map((known) => known.name).join(' or '), why);
}

function readAttempts(value: unknown): readonly Attempt[] {
  if (Array.isArray(value) && value.length >= 1 && value.length <= MAX_ATTEMPTS) return value.map(readAttempt);
  const got = Array.isArray(value) ? `${value.length}` : kindOf(value);
  throw invalidField('attempts', `a list of 1 to ${MAX_ATTEMPTS}`, got);
}

/** A card is a state of its own, so it is the policy's name. */
function readAttempt(value: unknown, index: number): Attempt {
  const at = `attempts[${index}].`;
  const { card, policy, key, cost } = readItem(value, at, ['card', 'policy', 'key', 'cost']);
  const name = readShort(card, `${at}card`, MAX_CARD_LENGTH);
  if (!isFields(policy)) throw invalidField(`${at}policy`, 'a policy', kindOf(policy));
  return {
    policy: readPolicy({ ...policy, name }, `${at}policy`),
    key: key === undefined ? 'everyone' : readShort(key, `${at}key`, MAX_KEY_LENGTH),
    cost: readCost(cost, `${at}cost`),
  };
}

function readShort(value: unknown, path: string, most: number): string {
  if (typeof value === 'string' && value.length >= 1 && value.length <= most && /^[\w .:-]+$/.test(value)) return value;
  throw invalidField(path, `1 to ${most} letters, digits, spaces and . : _ -`, kindOf(value));
}

function readPolicy(value: object, path: string): Policy {
  const policy = checkPolicy(value, path);
  const { limit } = ruleOf(policy);
  if (keepsEntries(policy) && limit > MAX_LOG) {
    throw invalidField(`${path}.limit`, `at most ${MAX_LOG} in a log`, String(limit));
  }
  const seconds = recoverySeconds(policy);
  if (seconds <= MOST_SECONDS) return policy;
  throw invalidField(path, `to recover within ${MOST_SECONDS} seconds`, `${Math.round(seconds)}`);
}

function inSession(attempt: Attempt, { id }: Session): Attempt {
  return { ...attempt, key: `${id}:${attempt.key}` };
}

const STATE = 'state:';

/** So that a reset finds all of them, and that there are not too many. Nothing is attempted when there would be. */
function remember(attempts: readonly Attempt[], engine: Engine, { leftovers }: Session): void {
  const states = new Map(
    attempts.map((attempt): [string, Attempt] => [
      `${STATE}${engine.name}:${ruleOf(attempt.policy).identity}:${attempt.key}`,
      attempt,
    ]),
  );
  const fresh = [...states].filter(([name]) => !leftovers.has(name));
  if (leftovers.size + fresh.length > MAX_STATES) {
    const message = `attempts: expected at most ${MAX_STATES} different cards and keys in a session, got more; a reset starts afresh`;
    throw new HttpError(400, 'too_many_states', message, { path: 'attempts' });
  }
  for (const [name, attempt] of fresh) leftovers.set(name, () => engine.forget(attempt));
}
