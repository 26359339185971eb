-- Windows in which a count grows to a limit, and that end at once: a fixed window, a calendar quota.
--   x                           limit
--   window_at(now, start, count)  of the algorithm: the window that counts, of what is stored, if anything is: its start, its end, what is spent in
--                               it, and whether it was moved back with the clock
-- In Redis: usually the window starts at a whole second and the count is below a million. Then it is the integer start + count,
-- which Redis keeps in 8 bytes and can add to in place. Otherwise text: 'm01724400000250000:42'.
local function written(start, count)
  if start % 1e6 > 0 or count >= 1e6 then return string.format('m%017d:%d', start, count) end
  return start + count
end

local function window(now, raw, stored)
  if not raw then return window_at(now) end
  if stored then return window_at(now, stored - stored % 1e6, stored % 1e6) end
  local start, count = string.match(raw, '^m(%d+):(%d+)$')
  return window_at(now, start + 0.0, count + 0.0)
end

local function transition(now, cost, raw, stored)
  local start, stop, count, reanchored = window(now, raw, stored)
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
  local start, _, count = window(now, raw, stored)
  local spent = math.min(cost, x - count)
  if spent <= 0 then return nil, 0 end
  return written(start, count + spent), spent
end

local function refund(now, cost, raw, stored, spent_at, spent_until)
  local start, stop, count = window(now, raw, stored)
  local back = math.min(cost, count)
  if spent_at and spent_until ~= stop then back = 0 end
  if back == 0 then return nil, 0 end
  return written(start, count - back), back
end
