-- Sliding window counter. State: window start, current, previous. Arguments: limit, window (microseconds).
-- Twin: sliding-window-counter.ts, which explains.
-- In Redis: usually the window starts at a whole second and the counts are below a thousand. Then it is the integer
-- start + 1000 x previous + current, which Redis keeps in 8 bytes and can add to in place. Otherwise text:
-- 'm01724400000250000:current:previous'.
local limit, size = ...

-- v - v % 1 is floor(v), without a call.
local function faded(count, elapsed)
  local tolerance = (0.1 * count) / size
  if tolerance > 1e-9 then tolerance = 1e-9 end
  local left = (count * (size - elapsed)) / size + tolerance
  return left - left % 1
end

local function fade_time(count, room)
  local elapsed = 0
  if count > 0 and faded(count, 0) > room then
    local tolerance = (0.1 * count) / size
    if tolerance > 1e-9 then tolerance = 1e-9 end
    elapsed = math.ceil(size * (1 - (room + 1 - tolerance) / count))
    if elapsed < 0 then elapsed = 0 end
    while elapsed > 0 and faded(count, elapsed - 1) <= room do elapsed = elapsed - 1 end
    while faded(count, elapsed) > room do elapsed = elapsed + 1 end
  end
  return elapsed
end

local function written(start, current, previous)
  local text = start + 1000 * previous + current
  if start % 1e6 > 0 or current >= 1000 or previous >= 1000 then
    text = string.format('m%017d:%d:%d', start, current, previous)
  end
  return text
end

-- The windows that count, and the room there is.
local function windows(now, raw, stored)
  local opens = now - now % size
  local start, current, previous, reanchored = opens, 0, 0, false
  if raw then
    if stored then
      local counts = stored % 1e6
      start, current = stored - counts, counts % 1000
      previous = (counts - current) / 1000
    else
      local text_start, text_current, text_previous = string.match(raw, '^m(%d+):(%d+):(%d+)$')
      start, current, previous = tonumber(text_start), tonumber(text_current), tonumber(text_previous)
    end
    reanchored = start - now > 2 * size
    if reanchored then
      start, current, previous = opens, current + previous, 0
      if current > limit then current = limit end
    elseif start > now then start = start - start % size
    elseif start >= opens then start = opens
    elseif start >= opens - size then start, current, previous = opens, 0, current
    else start, current, previous = opens, 0, 0 end
  end
  local elapsed = now - start
  if elapsed < 0 then elapsed = 0 end
  local remaining = limit - current
  if previous > 0 then
    local left = faded(previous, elapsed)
    remaining = remaining - left
  end
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
    local spare = limit - cost - current
    if cost > limit then retry = math.huge
    elseif spare >= 0 then retry = start + fade_time(previous, spare) - now
    else retry = start + size + fade_time(current, limit - cost) - now end
    if reanchored then
      state = written(start, current, previous)
    end
  end
  if current > 0 then
    local left = fade_time(current, 0)
    reset = start + size + left - now
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
  local charged = spent_at and spent_at - spent_at % size or start
  if charged == start then
    local back = math.min(cost, current)
    if back > 0 then return written(start, current - back, previous), back end
  elseif charged == start - size then
    local back = math.min(cost, previous)
    if back > 0 and faded(previous, math.max(0, now - start)) > 0 then return written(start, current, previous - back), back end
  end
  return nil, 0
end

return transition, penalize, refund
