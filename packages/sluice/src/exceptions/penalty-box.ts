/**
 * The state behind `blockFor`: until when a key is blocked, and how often it has been. A penalty is an offence: it begins a block, twice as long as
 * the one before and never longer than `most`. While a key is blocked, further offences change nothing, so that twenty requests at the same
 * moment are one offence. Offences are forgotten when `forget` has passed since the last block ended.
 */
import { toMicros } from '../model/duration.ts';
import { define, type Policy } from '../model/policy.ts';
import type { Algorithm, RuleParts } from '../model/rule.ts';
import type { Numbers } from '../model/step.ts';

interface PenaltyBox extends Policy {
  readonly algorithm: 'penalty-box';
  /** Milliseconds, as the others. */
  readonly first: number;
  readonly most: number;
  readonly forget: number;
}

const PENALTY_BOX: Algorithm<PenaltyBox> = {
  name: 'penalty-box',
  about: 'Blocks a key for a while after each offence, longer each time.',
  fields: {
    first: { kind: 'duration', about: 'How long the first block is.' },
    most: { kind: 'duration', about: 'How long a block is at most.' },
    forget: { kind: 'duration', about: 'How long after a block its offence is remembered.' },
  },
  rule: ({ first, most, forget }) => boxRule(toMicros(first), toMicros(most), toMicros(forget)),
};

export function penaltyBox(name: string, times: Pick<PenaltyBox, 'first' | 'most' | 'forget'>): Policy {
  return define(PENALTY_BOX, { name, ...times });
}

/** Doubling from 2^52 on would be no number of microseconds; every block is as long as allowed before that. */
const MAX_DOUBLINGS = 50;

function boxRule(first: number, most: number, forget: number): RuleParts {
  /** How long the block still is. A state from too far ahead, after a clock step, counts as the longest block. */
  const waitOf = (state: Numbers | undefined, now: number): number =>
    state === undefined ? 0 : Math.min(Math.max(0, state[0]! - now), most);
  return {
    limit: 1,
    recovery: most + forget,
    width: 2,
    transition(state, now, _cost, step) {
      const wait = waitOf(state, now);
      const reset = state === undefined ? 0 : Math.min(Math.max(0, state[0]! + forget - now), most + forget);
      if (wait > 0) step.deny(0, wait, reset);
      else step.allow(1, reset);
    },
    penalize(state, now, _cost, step) {
      step.leaves();
      if (waitOf(state, now) > 0) return;
      const isRemembered = state !== undefined && now < state[0]! + forget;
      const offences = Math.min(isRemembered ? state[1]! + 1 : 1, MAX_DOUBLINGS);
      step.units = 1;
      step.becomes(now + Math.min(first * 2 ** (offences - 1), most), offences);
    },
    refund: (_state, _now, _cost, _spent, step) => step.leaves(),
    bound: () => Number.POSITIVE_INFINITY,
    share: () => ({}),
    redis: { code: '(penalty-box)', args: [String(first), String(most), String(forget)], lua: LUA },
  };
}

/** The same, line by line. */
const LUA = `
local forget = z + 0.0

local function box_of(raw)
  if not raw then return nil, 0 end
  local until_, offences = string.match(raw, '^b0*(%d+):(%d+)$')
  return until_ + 0.0, offences + 0.0
end

local function wait_in_box(until_, now)
  if not until_ then return 0 end
  return math.min(math.max(0, until_ - now), y)
end

local function transition(now, cost, raw)
  local until_ = box_of(raw)
  local reset = 0
  if until_ then reset = math.min(math.max(0, until_ + forget - now), y + forget) end
  local wait = wait_in_box(until_, now)
  if wait > 0 then return 0, wait, reset, 0 end
  return 1, 0, reset, 0
end

local function penalize(now, cost, raw)
  local until_, offences = box_of(raw)
  if wait_in_box(until_, now) > 0 then return nil, 0 end
  if not until_ or now >= until_ + forget then offences = 0 end
  offences = math.min(offences + 1, ${MAX_DOUBLINGS})
  return string.format('b%020.0f:%.0f', now + math.min(x * 2 ^ (offences - 1), y), offences), 1
end

local function refund() return nil, 0 end
`;
