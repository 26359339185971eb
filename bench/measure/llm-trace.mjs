/**
 * Requests to a language model, replayed on virtual time under one bucket of tokens: charging what each has used when it has ended, against reserving a
 * learned estimate when it begins and settling the truth.
 */
import { readFileSync } from 'node:fs';
import { createLimiter, manualClock, memoryStore, tokenBucket } from 'sluice';
import { estimates } from 'sluice/llm';

const PER_MINUTE = 100_000;
const MINUTE_MS = 60_000;
const KEY = 'model';

/** Half a second, and a second for each 40 tokens of the answer. */
const latencyMs = ({ generated }) => 500 + generated * 25;

/** A file with TIMESTAMP, ContextTokens and GeneratedTokens, as Azure publishes its traces. Times in milliseconds from the first. */
export function readTrace(path) {
  const [head, ...lines] = readFileSync(path, 'utf8').trim().split(/\r?\n/);
  const columns = head.split(',').map((name) => name.trim());
  const column = (name) => {
    const at = columns.indexOf(name);
    if (at < 0) throw new Error(`${path}: expected a column ${name}, got ${head}`);
    return at;
  };
  const [time, context, generated] = ['TIMESTAMP', 'ContextTokens', 'GeneratedTokens'].map(column);
  const rows = lines.map((line) => {
    const cells = line.split(',');
    const [whole, part = '0'] = cells[time].split('.');
    const at = Date.parse(`${whole.replace(' ', 'T')}Z`) + Number(`0.${part}`) * 1e3;
    return { at, context: Number(cells[context]), generated: Number(cells[generated]) };
  });
  return rows.map((row) => ({ ...row, at: row.at - rows[0].at })).sort((one, other) => one.at - other.at);
}

/** Much like that trace: an hour of requests, most of them small and some very large. The same every time. */
export function madeTrace(requests = 20_000) {
  let seed = 20_261_118;
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return (seed + 1) / 2 ** 32;
  };
  const spread = (median, sigma, most) => {
    const normal = Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
    return Math.max(1, Math.min(most, Math.round(median * Math.exp(sigma * normal))));
  };
  let at = 0;
  return Array.from({ length: requests }, () => {
    at += -Math.log(random()) * (3_500_000 / requests);
    return { at, context: spread(700, 1.1, 8000), generated: spread(150, 0.9, 1500) };
  });
}

/** What was allowed, and the most tokens that were used by requests which began within one minute, in limits. */
async function replay(trace, begin) {
  const clock = manualClock(1_763_280_000_000);
  const start = clock.now();
  const limiter = createLimiter({
    policy: tokenBucket({ name: 'tokens', capacity: PER_MINUTE, refillRate: PER_MINUTE / 60 }),
    store: memoryStore({ clock }),
    timers: { clock, sleep: () => Promise.reject(new Error('nobody waits here')) },
  });
  const ends = [];
  const endUntil = async (ms) => {
    while (ends.length > 0 && ends[0].at <= ms) {
      const { at, end } = ends.shift();
      clock.set(start + at);
      await end();
    }
  };
  const allowed = [];
  for (const request of trace) {
    await endUntil(request.at);
    clock.set(start + request.at);
    const end = await begin(limiter, request);
    if (end === undefined) continue;
    allowed.push(request);
    const at = request.at + latencyMs(request);
    let place = ends.length;
    while (place > 0 && ends[place - 1].at > at) place -= 1;
    ends.splice(place, 0, { at, end });
  }
  await endUntil(Number.POSITIVE_INFINITY);
  return { allowed: allowed.length, tokens: sum(allowed), worst: worstMinute(allowed) / PER_MINUTE };
}

const used = ({ context, generated }) => context + generated;
const sum = (requests) => requests.reduce((total, request) => total + used(request), 0);

function worstMinute(requests) {
  let [first, within, worst] = [0, 0, 0];
  for (const request of requests) {
    within += used(request);
    while (requests[first].at <= request.at - MINUTE_MS) {
      within -= used(requests[first]);
      first += 1;
    }
    worst = Math.max(worst, within);
  }
  return worst;
}

/** Whoever comes while anything is left is allowed, and charged when it has ended: into debt, which is paid back before anybody else is allowed. */
export const chargingAfterwards = (trace) =>
  replay(trace, async (limiter, request) => {
    const { remaining } = await limiter.peek(KEY, { cost: 0 });
    if (remaining === 0) return undefined;
    return () => limiter.penalize(KEY, { cost: used(request), maxDebt: 100 * PER_MINUTE });
  });

/** The tokens of the prompt are known, those of the answer are learned. Without options everything is as installed. */
export const reserving = (trace, options = {}, holding = {}) => {
  const answers = estimates(options);
  return replay(trace, async (limiter, request) => {
    const hold = await limiter.reserve(KEY, { cost: answers.of('model', request.context), ...holding });
    return hold.allowed ? () => hold.commit(used(request)) : undefined;
  });
};

/** Debt as large as the bucket. */
export const IN_DEBT = { maxDebt: PER_MINUTE };
