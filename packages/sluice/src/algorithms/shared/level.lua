-- A level that drains at a steady rate: what a token bucket has spent, what a leaky bucket holds.
-- State: { level in units, the whole microsecond it was measured at }. Twin: level.ts, which explains.
-- In Redis: a STRING of two little-endian doubles, 16 bytes, so that nothing is lost in writing numbers down.
local floor, ceil, min, max, huge = math.floor, math.ceil, math.min, math.max, math.huge
local UNIT_TOLERANCE, TIME_TOLERANCE = 1e-9, 0.1

local function drained(level, elapsed, rate, tolerance)
  local left = level - (elapsed * rate) / 1e6
  if left <= tolerance then return 0 end
  return left
end

local function whole_room(capacity, level, tolerance)
  local room = floor(capacity - level + tolerance)
  if level > capacity - room + tolerance then return max(0, room - 1) end
  if level <= capacity - (room + 1) + tolerance then return room + 1 end
  return room
end

local function drain_time(level, target, rate)
  if level <= target then return 0 end
  local elapsed = ceil(((level - target) * 1e6) / rate)
  while elapsed > 0 and level - ((elapsed - 1) * rate) / 1e6 <= target do elapsed = elapsed - 1 end
  while level - (elapsed * rate) / 1e6 > target do elapsed = elapsed + 1 end
  return elapsed
end

local function load(key)
  local raw = redis.call('GET', key)
  if not raw then return nil end
  local level, at = struct.unpack('<dd', raw)
  return { level, at }
end

local function save(key, state, ...)
  redis.call('SET', key, struct.pack('<dd', state[1], state[2]), ...)
end

-- Returns allowed, remaining, retryAfter, resetAfter, delay, next; microseconds.
local function transition(state, now, cost, capacity, rate)
  capacity, rate = tonumber(capacity), tonumber(rate)
  local tolerance = min(UNIT_TOLERANCE, (TIME_TOLERANCE * rate) / 1e6)
  local stored, stored_at = 0, now
  if state then stored, stored_at = state[1], state[2] end
  local level = min(stored, capacity)
  local reanchored = stored_at - now > (capacity / rate) * 1e6
  local since = reanchored and now or stored_at
  local at = max(now, since)
  local left = drained(level, at - since, rate, tolerance)
  local room = whole_room(capacity, left, tolerance)

  local reset = left == 0 and 0 or since - now + drain_time(level, tolerance, rate)

  if cost == 0 then return true, room, 0, reset, 0, nil end
  if cost <= room then
    local after = min(capacity, left + cost)
    return true, whole_room(capacity, after, tolerance), 0, at - now + drain_time(after, tolerance, rate), 0, { after, at }
  end
  local retry = huge
  if cost <= capacity then retry = since - now + drain_time(level, capacity - cost + tolerance, rate) end
  return false, room, retry, reset, 0, reanchored and { level, now } or nil
end

return { load = load, transition = transition, save = save }
