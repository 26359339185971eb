-- A level that drains at a steady rate: what a token bucket has spent, what a leaky bucket holds.
-- State: level in units, and the whole microsecond it was measured at. Twin: level.ts, which explains.
-- In Redis: a STRING of two little-endian doubles, 16 bytes, so that nothing is lost in writing numbers down.
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local UNIT_TOLERANCE, TIME_TOLERANCE = 1e-9, 0.1

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
  if raw then return struct.unpack('<dd', raw) end
end

local function save(key, option, expiry, level, at)
  redis.call('SET', key, struct.pack('<dd', level, at), option, expiry)
end

-- Returns allowed, remaining, retryAfter, resetAfter, delay, and the next state, if any. Microseconds.
local function transition(now, cost, capacity, rate, _, stored, stored_at)
  capacity, rate = tonumber(capacity), tonumber(rate)
  local tolerance = min(UNIT_TOLERANCE, (TIME_TOLERANCE * rate) / 1e6)
  local level = stored and min(stored, capacity) or 0
  local since = stored_at or now
  local reanchored = since - now > (capacity / rate) * 1e6
  if reanchored then since = now end
  local at = max(now, since)
  local left = level - ((at - since) * rate) / 1e6
  if left <= tolerance then left = 0 end

  if cost > 0 and left <= capacity - cost + tolerance then
    local after = min(capacity, left + cost)
    return true, whole_room(capacity, after, tolerance), 0, at - now + drain_time(after, tolerance, rate), 0, after, at
  end
  local room = whole_room(capacity, left, tolerance)
  local reset = left == 0 and 0 or since - now + drain_time(level, tolerance, rate)
  if cost == 0 then return true, room, 0, reset, 0 end
  local retry = math.huge
  if cost <= capacity then retry = since - now + drain_time(level, capacity - cost + tolerance, rate) end
  if reanchored then return false, room, retry, reset, 0, level, now end
  return false, room, retry, reset, 0
end

return load, transition, save
