-- Calendar quota. Twin: calendar-quota.ts, which explains.
--   x   limit
--   z   where periods start around the time of the caller, in microseconds and in order: '1760000000000000 1760003600000000 ...'
-- In Redis: as in a fixed window. Usually the integer start + count; from a million units on text: 'm01724400000000000:4200000'.
local function written(start, count)
  if start % 1e6 > 0 or count >= 1e6 then return string.format('m%017d:%d', start, count) end
  return start + count
end

-- The period of now and the end of the next one. A script has one now, so they are looked up once.
local opens, ends, next_ends
local function look_up(now)
  for text in string.gmatch(z, '%d+') do
    opens, ends, next_ends = ends, next_ends, text + 0.0
    if opens and opens <= now and now < ends then return end
  end
  error('SLUICE_CLOCKS the clocks of this server and of the process that asks are more than two periods apart')
end

-- The period that counts: its start, its end, what is spent in it, and whether it was moved back with the clock.
local function current(now, raw, stored)
  if not opens then look_up(now) end
  if not raw then return opens, ends, 0, false end
  local start, count
  if stored then
    count = stored % 1e6
    start = stored - count
  else
    start, count = string.match(raw, '^m(%d+):(%d+)$')
    start, count = start + 0.0, count + 0.0
  end
  if start < opens then return opens, ends, 0, false end
  if start < ends then return opens, ends, count, false end
  if start < next_ends then return ends, next_ends, count, false end
  return opens, ends, count, true
end

local function transition(now, cost, raw, stored)
  local start, stop, count, reanchored = current(now, raw, stored)
  local until_end = stop - now
  local remaining = x - count
  if remaining < 0 then remaining = 0 end

  local retry, reset, state, delta = 0, 0, nil, nil
  if count > 0 then reset = until_end end
  if cost > 0 and cost <= remaining then
    remaining, reset = remaining - cost, until_end
    state = written(start, count + cost)
    -- Only the count has grown: what is stored can be added to.
    if stored and state == stored + cost then delta = cost end
  elseif cost > 0 then
    retry = cost > x and math.huge or until_end
    if reanchored then state = written(start, count) end
  end
  return remaining, retry, reset, 0, state, delta
end

-- The next state, if it changes, and by how many units.
local function penalize(now, cost, raw, stored)
  local start, _, count = current(now, raw, stored)
  local spent = math.min(cost, x - count)
  if spent <= 0 then return nil, 0 end
  return written(start, count + spent), spent
end

local function refund(now, cost, raw, stored, spent_at, spent_until)
  local start, stop, count = current(now, raw, stored)
  local back = math.min(cost, count)
  if spent_at and spent_until ~= stop then back = 0 end
  if back == 0 then return nil, 0 end
  return written(start, count - back), back
end
