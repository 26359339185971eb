-- Sliding window counter. State: window start, current, previous. Arguments: limit, window (microseconds).
-- Twin: sliding-window-counter.ts, which explains. In Redis: see shared/counts.lua.
local load, save = require('shared/counts')
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local UNIT_TOLERANCE, TIME_TOLERANCE = 1e-9, 0.1

local function faded(count, elapsed, size)
  return floor((count * (size - elapsed)) / size + min(UNIT_TOLERANCE, (TIME_TOLERANCE * count) / size))
end

local function fade_time(count, room, size)
  if faded(count, 0, size) <= room then return 0 end
  local tolerance = min(UNIT_TOLERANCE, (TIME_TOLERANCE * count) / size)
  local elapsed = max(0, ceil(size * (1 - (room + 1 - tolerance) / count)))
  while elapsed > 0 and faded(count, elapsed - 1, size) <= room do elapsed = elapsed - 1 end
  while faded(count, elapsed, size) > room do elapsed = elapsed + 1 end
  return elapsed
end

local function reset_after(start, current, previous, size, now)
  if current > 0 then return start + size + fade_time(current, 0, size) - now end
  if previous > 0 then return max(0, start + fade_time(previous, 0, size) - now) end
  return 0
end

-- Returns allowed, remaining, retryAfter, resetAfter, delay, and the next state, if any. Microseconds.
local function transition(now, cost, limit, size, _, start, current, previous)
  limit, size = tonumber(limit), tonumber(size)
  local opens = now - (now % size)
  local reanchored = start and start - now > 2 * size
  if not start then start, current, previous = opens, 0, 0
  elseif reanchored then start, current, previous = opens, min(limit, current + previous), 0
  elseif start > now then start = start - (start % size)
  elseif start >= opens then start = opens
  elseif start >= opens - size then start, current, previous = opens, 0, current
  else start, current, previous = opens, 0, 0 end
  local elapsed = max(0, now - start)
  local room = max(0, limit - current - faded(previous, elapsed, size))

  if cost > 0 and cost <= room then
    local counted = current + cost
    return true, room - cost, 0, reset_after(start, counted, previous, size, now), 0, start, counted, previous
  end
  local reset = reset_after(start, current, previous, size, now)
  if cost == 0 then return true, room, 0, reset, 0 end
  local retry = math.huge
  if cost <= limit then
    -- The moment it fits: in this window while previous fades, or in the next one where current has become previous.
    local spare = limit - cost - current
    if spare >= 0 then retry = start + fade_time(previous, spare, size) - now
    else retry = start + size + fade_time(current, limit - cost, size) - now end
  end
  if reanchored then return false, room, retry, reset, 0, start, current, previous end
  return false, room, retry, reset, 0
end

return load, transition, save
