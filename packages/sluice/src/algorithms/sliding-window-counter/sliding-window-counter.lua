-- Sliding window counter. State: window start, current, previous. Arguments: limit, window (microseconds).
-- Twin: sliding-window-counter.ts, which explains.
-- In Redis: usually the window starts at a whole second and the counts are below a thousand. Then it is the integer
-- start + 1000 x previous + current, which Redis keeps in 8 bytes and can add to in place. Otherwise text:
-- 'm1724400000250000:current:previous'.
local limit, size = ...
local floor, ceil, min = math.floor, math.ceil, math.min

local function stored_windows(raw)
  local packed = tonumber(raw)
  if packed then
    local counts = packed % 1e6
    local current = counts % 1000
    return packed - counts, current, (counts - current) / 1000, true
  end
  local start, current, previous = string.match(raw, '^m(%d+):(%d+):(%d+)$')
  return tonumber(start), tonumber(current), tonumber(previous), false
end

local function written(start, current, previous)
  if start % 1e6 == 0 and current < 1000 and previous < 1000 then return start + 1000 * previous + current end
  return string.format('m%d:%d:%d', start, current, previous)
end

local function faded(count, elapsed)
  if count == 0 then return 0 end
  return floor((count * (size - elapsed)) / size + min(1e-9, (0.1 * count) / size))
end

local function fade_time(count, room)
  if faded(count, 0) <= room then return 0 end
  local tolerance = min(1e-9, (0.1 * count) / size)
  local elapsed = ceil(size * (1 - (room + 1 - tolerance) / count))
  if elapsed < 0 then elapsed = 0 end
  while elapsed > 0 and faded(count, elapsed - 1) <= room do elapsed = elapsed - 1 end
  while faded(count, elapsed) > room do elapsed = elapsed + 1 end
  return elapsed
end

local function reset_after(start, current, previous, now)
  if current > 0 then return start + size + fade_time(current, 0) - now end
  if previous == 0 then return 0 end
  local reset = start + fade_time(previous, 0) - now
  return reset > 0 and reset or 0
end

local function transition(now, cost, raw)
  local opens = now - now % size
  local start, current, previous, packed, reanchored = opens, 0, 0, false, false
  if raw then
    start, current, previous, packed = stored_windows(raw)
    if start - now > 2 * size then
      reanchored, packed = true, false
      start, current, previous = opens, min(limit, current + previous), 0
    elseif start > now then
      local aligned = start - start % size
      start, packed = aligned, packed and start == aligned
    elseif start >= opens then start, packed = opens, packed and start == opens
    elseif start >= opens - size then start, current, previous, packed = opens, 0, current, false
    else start, current, previous, packed = opens, 0, 0, false end
  end
  local elapsed = now - start
  if elapsed < 0 then elapsed = 0 end
  local room = limit - current - faded(previous, elapsed)
  if room < 0 then room = 0 end

  if cost > 0 and cost <= room then
    local total = current + cost
    local reset = reset_after(start, total, previous, now)
    if packed and total < 1000 then
      return true, room - cost, 0, reset, 0, start + 1000 * previous + total, cost
    end
    return true, room - cost, 0, reset, 0, written(start, total, previous)
  end
  local reset = reset_after(start, current, previous, now)
  if cost == 0 then return true, room, 0, reset, 0 end
  local retry = math.huge
  if cost <= limit then
    -- The moment it fits: in this window while previous fades, or in the next one where current has become previous.
    local spare = limit - cost - current
    if spare >= 0 then retry = start + fade_time(previous, spare) - now
    else retry = start + size + fade_time(current, limit - cost) - now end
  end
  if reanchored then return false, room, retry, reset, 0, written(start, current, previous) end
  return false, room, retry, reset, 0
end

return transition
