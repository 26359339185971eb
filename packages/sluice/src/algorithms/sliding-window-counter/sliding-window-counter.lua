-- Sliding window counter. Twin: sliding-window-counter.ts, which explains.
--   x   limit
--   y   window in microseconds
-- In Redis: usually the window starts at a whole second and the counts are below a thousand. Then it is the integer
-- start + 1000 x previous + current, which Redis keeps in 8 bytes and can add to in place. Otherwise text:
-- 'm01724400000250000:current:previous'.

local grain = x < 32 and 0 or y / 8 - y / 8 % 1000

-- v - v % 1 is floor(v), without a call.
local function faded(count, elapsed)
  if count == 0 then return 0 end
  local tolerance = (0.1 * count) / y
  if tolerance > 1e-9 then tolerance = 1e-9 end
  local left = (count * (y - elapsed)) / y + tolerance
  return left - left % 1
end

local function fade_time(count, room)
  if faded(count, 0) <= room then return 0 end
  local tolerance = (0.1 * count) / y
  if tolerance > 1e-9 then tolerance = 1e-9 end
  local elapsed = math.ceil(y * (1 - (room + 1 - tolerance) / count))
  if elapsed < 0 then elapsed = 0 end
  while elapsed > 0 and faded(count, elapsed - 1) <= room do elapsed = elapsed - 1 end
  while faded(count, elapsed) > room do elapsed = elapsed + 1 end
  return elapsed
end

local function written(start, current, previous)
  if start % 1e6 > 0 or current >= 1000 or previous >= 1000 then
    return string.format('m%017d:%d:%d', start, current, previous)
  end
  return start + 1000 * previous + current
end

-- The windows that count, and the room there is.
local function windows(now, raw, stored)
  local opens = now - now % y
  local start, current, previous, reanchored = opens, 0, 0, false
  if raw then
    if stored then
      local counts = stored % 1e6
      start, current = stored - counts, counts % 1000
      previous = (counts - current) / 1000
    else
      start, current, previous = string.match(raw, '^m(%d+):(%d+):(%d+)$')
      start, current, previous = start + 0.0, current + 0.0, previous + 0.0
    end
    reanchored = start - now > 2 * y
    if reanchored then
      start, current, previous = opens, current + previous, 0
      if current > x then current = x end
    elseif start > now then start = start - start % y
    elseif start >= opens then start = opens
    elseif start >= opens - y then start, current, previous = opens, 0, current
    else start, current, previous = opens, 0, 0 end
  end
  local elapsed = now - start
  if elapsed < 0 then elapsed = 0 end
  local remaining = x - current - faded(previous, elapsed)
  if remaining < 0 then remaining = 0 end
  return start, current, previous, remaining, reanchored
end

local function transition(now, cost, raw, stored)
  local start, current, previous, remaining, reanchored = windows(now, raw, stored)
  local retry, reset, state, delta = 0, 0, nil, nil
  if cost > 0 and cost <= remaining then
    current, remaining = current + cost, remaining - cost
    state = written(start, current, previous)
    -- Only the current count has grown: what is stored can be added to.
    if stored and state == stored + cost then delta = cost end
  elseif cost > 0 then
    -- The moment it fits: in this window while previous fades, or in the next one where current has become previous.
    local spare = x - cost - current
    if cost > x then retry = math.huge
    elseif spare >= 0 then retry = start + fade_time(previous, spare) - now
    else retry = start + y + fade_time(current, x - cost) - now end
    if reanchored then state = written(start, current, previous) end
  end
  if current > 0 then reset = start + y + fade_time(current, 0) - now
  elseif previous > 0 then
    reset = start + fade_time(previous, 0) - now
    if reset < 0 then reset = 0 end
  end
  return remaining, retry, reset, 0, state, delta
end

-- The next state, if it changes, and by how many units.
local function penalize(now, cost, raw, stored)
  local start, current, previous, remaining = windows(now, raw, stored)
  local spent = math.min(cost, remaining)
  if spent == 0 then return nil, 0 end
  return written(start, current + spent, previous), spent
end

-- From the count that was charged: that of the window of the spend, as long as anything of it still counts.
local function refund(now, cost, raw, stored, spent_at)
  local start, current, previous = windows(now, raw, stored)
  local charged = spent_at and spent_at - spent_at % y or start
  if charged == start then
    local back = math.min(cost, current)
    if back > 0 then return written(start, current - back, previous), back end
  elseif charged == start - y then
    local back = math.min(cost, previous)
    if back > 0 and faded(previous, math.max(0, now - start)) > 0 then return written(start, current, previous - back), back end
  end
  return nil, 0
end
