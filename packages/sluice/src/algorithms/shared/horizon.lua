-- A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot.
-- State: whole microsecond, and fraction of a microsecond beyond it. Twin: horizon.ts, which explains.
-- In Redis: a STRING of decimal digits when the fraction is 0, which Redis keeps as an 8-byte integer, and that is so for
-- every rate whose interval is whole microseconds; otherwise 'f' and two little-endian doubles.
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local UNIT_TOLERANCE, TIME_TOLERANCE = 1e-9, 0.1

local function whole_room(distance, capacity, interval, tolerance)
  if distance <= tolerance then return capacity end
  local room = max(0, floor(capacity - (distance - tolerance) / interval))
  if distance > (capacity - room) * interval + tolerance then return max(0, room - 1) end
  if distance <= (capacity - (room + 1)) * interval + tolerance then return room + 1 end
  return room
end

local function time_until(whole, fraction, now, target)
  local distance = whole - now
  if distance + fraction <= target then return 0 end
  local elapsed = ceil(distance + fraction - target)
  while elapsed > 0 and distance - (elapsed - 1) + fraction <= target do elapsed = elapsed - 1 end
  while distance - elapsed + fraction > target do elapsed = elapsed + 1 end
  return elapsed
end

local function load(key)
  local raw = redis.call('GET', key)
  if not raw then return nil end
  if string.byte(raw) == 102 then return struct.unpack('<dd', raw, 2) end
  return tonumber(raw), 0
end

local function save(key, option, expiry, whole, fraction)
  local raw
  if fraction == 0 then raw = string.format('%d', whole) else raw = 'f' .. struct.pack('<dd', whole, fraction) end
  redis.call('SET', key, raw, option, expiry)
end

-- Returns allowed, remaining, retryAfter, resetAfter, delay, and the next state, if any. Microseconds.
local function transition(now, cost, capacity, interval, delays, whole, fraction)
  capacity, interval = tonumber(capacity), tonumber(interval)
  local span = capacity * interval
  local tolerance = min(UNIT_TOLERANCE * interval, TIME_TOLERANCE)
  if not whole then whole, fraction = now, 0 end
  local before = whole - now + fraction
  local reanchored = before > 2 * span
  if reanchored then
    local carry = floor(span)
    whole, fraction = now + carry, span - carry
    before = span
  elseif before <= tolerance then
    whole, fraction, before = now, 0, 0
  end

  if cost > 0 and before <= (capacity - cost) * interval + tolerance then
    local delay = delays == '1' and time_until(whole, fraction, now, tolerance) or 0
    local beyond = fraction + cost * interval
    local carry = floor(beyond)
    whole, fraction = whole + carry, beyond - carry
    local remaining = whole_room(whole - now + fraction, capacity, interval, tolerance)
    return true, remaining, 0, time_until(whole, fraction, now, tolerance), delay, whole, fraction
  end
  local room = whole_room(before, capacity, interval, tolerance)
  local wait = time_until(whole, fraction, now, tolerance)
  if cost == 0 then return true, room, 0, wait, delays == '1' and wait or 0 end
  local retry = math.huge
  if cost <= capacity then retry = time_until(whole, fraction, now, (capacity - cost) * interval + tolerance) end
  if reanchored then return false, room, retry, wait, 0, whole, fraction end
  return false, room, retry, wait, 0
end

return load, transition, save
