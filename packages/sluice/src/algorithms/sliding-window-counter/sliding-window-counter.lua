-- Sliding window counter. State: { window start, current, previous }. Arguments: limit, window (microseconds).
-- Twin: sliding-window-counter.ts, which explains. In Redis: see shared/counts.lua.
local counts = require('shared/counts')
local floor, ceil, min, max, huge = math.floor, math.ceil, math.min, math.max, math.huge
local UNIT_TOLERANCE, TIME_TOLERANCE = 1e-9, 0.1

local function window_at(state, now, size)
  local opens = now - (now % size)
  if not state then return opens, 0, 0 end
  local start, current, previous = state[1], state[2], state[3]
  if start > now then return start - (start % size), current, previous end
  if start >= opens then return opens, current, previous end
  if start >= opens - size then return opens, 0, current end
  return opens, 0, 0
end

local function tolerance_of(count, size)
  return min(UNIT_TOLERANCE, (TIME_TOLERANCE * count) / size)
end

local function faded(count, elapsed, size)
  return floor((count * (size - elapsed)) / size + tolerance_of(count, size))
end

local function fade_time(count, room, size)
  if faded(count, 0, size) <= room then return 0 end
  local elapsed = max(0, ceil(size * (1 - (room + 1 - tolerance_of(count, size)) / count)))
  while elapsed > 0 and faded(count, elapsed - 1, size) <= room do elapsed = elapsed - 1 end
  while faded(count, elapsed, size) > room do elapsed = elapsed + 1 end
  return elapsed
end

local function crossing(start, current, previous, cost, limit, size)
  local room = limit - cost - current
  if room >= 0 then return start + fade_time(previous, room, size) end
  return start + size + fade_time(current, limit - cost, size)
end

local function reset_after(start, current, previous, size, now)
  if current > 0 then return start + size + fade_time(current, 0, size) - now end
  if previous > 0 then return max(0, start + fade_time(previous, 0, size) - now) end
  return 0
end

-- Returns allowed, remaining, retryAfter, resetAfter, delay, next; microseconds.
local function transition(state, now, cost, limit, size)
  limit, size = tonumber(limit), tonumber(size)
  local reanchored = state ~= nil and state[1] - now > 2 * size
  local start, current, previous
  if reanchored then
    start, current, previous = now - (now % size), min(limit, state[2] + state[3]), 0
  else
    start, current, previous = window_at(state, now, size)
  end
  local elapsed = max(0, now - start)
  local room = max(0, limit - current - faded(previous, elapsed, size))

  if cost > 0 and cost <= room then
    local counted = current + cost
    return true, room - cost, 0, reset_after(start, counted, previous, size, now), 0, { start, counted, previous }
  end
  local reset = reset_after(start, current, previous, size, now)
  if cost == 0 then return true, room, 0, reset, 0, nil end
  local retry = huge
  if cost <= limit then retry = crossing(start, current, previous, cost, limit, size) - now end
  return false, room, retry, reset, 0, reanchored and { start, current, previous } or nil
end

return { load = counts.load, transition = transition, save = counts.save }
