-- A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot.
-- State: { whole microsecond, fraction of a microsecond beyond it }. Twin: horizon.ts, which explains.
-- In Redis: a STRING of decimal digits when the fraction is 0, which Redis keeps as an 8-byte integer, and that is so for
-- every rate whose interval is whole microseconds; otherwise 'f' and two little-endian doubles.
local floor, ceil, min, max, huge = math.floor, math.ceil, math.min, math.max, math.huge
local UNIT_TOLERANCE, TIME_TOLERANCE = 1e-9, 0.1

local function ahead(horizon, now, tolerance)
  local distance = horizon[1] - now + horizon[2]
  if distance <= tolerance then return 0 end
  return distance
end

local function later(horizon, by)
  local beyond = horizon[2] + by
  local carry = floor(beyond)
  return { horizon[1] + carry, beyond - carry }
end

local function whole_room(distance, capacity, interval, tolerance)
  local room = max(0, floor(capacity - (distance - tolerance) / interval))
  if distance > (capacity - room) * interval + tolerance then return max(0, room - 1) end
  if distance <= (capacity - (room + 1)) * interval + tolerance then return room + 1 end
  return room
end

local function time_until(horizon, now, target)
  local distance, fraction = horizon[1] - now, horizon[2]
  if distance + fraction <= target then return 0 end
  local elapsed = ceil(distance + fraction - target)
  while elapsed > 0 and distance - (elapsed - 1) + fraction <= target do elapsed = elapsed - 1 end
  while distance - elapsed + fraction > target do elapsed = elapsed + 1 end
  return elapsed
end

local function load(key)
  local raw = redis.call('GET', key)
  if not raw then return nil end
  if string.byte(raw) == 102 then
    local whole, fraction = struct.unpack('<dd', raw, 2)
    return { whole, fraction }
  end
  return { tonumber(raw), 0 }
end

local function save(key, state, ...)
  local raw
  if state[2] == 0 then raw = string.format('%d', state[1]) else raw = 'f' .. struct.pack('<dd', state[1], state[2]) end
  redis.call('SET', key, raw, ...)
end

-- Returns allowed, remaining, retryAfter, resetAfter, delay, next; microseconds.
local function transition(state, now, cost, capacity, interval)
  capacity, interval = tonumber(capacity), tonumber(interval)
  local span = capacity * interval
  local tolerance = min(UNIT_TOLERANCE * interval, TIME_TOLERANCE)
  local reanchored = state ~= nil and ahead(state, now, tolerance) > 2 * span
  local horizon = reanchored and later({ now, 0 }, span) or state or { now, 0 }
  local before = ahead(horizon, now, tolerance)
  local room = whole_room(before, capacity, interval, tolerance)
  local wait = time_until(horizon, now, tolerance)

  if cost == 0 then return true, room, 0, wait, wait, nil end
  if cost <= room then
    local next = later(before > 0 and horizon or { now, 0 }, cost * interval)
    return true, whole_room(ahead(next, now, tolerance), capacity, interval, tolerance), 0, time_until(next, now, tolerance), wait, next
  end
  local retry = huge
  if cost <= capacity then retry = time_until(horizon, now, (capacity - cost) * interval + tolerance) end
  return false, room, retry, wait, 0, reanchored and horizon or nil
end

return { load = load, transition = transition, save = save }
