-- A level that drains at a steady rate: what a token bucket has spent, what a leaky bucket holds.
-- State: level in units, and the whole microsecond it was measured at. Twin: level.ts, which explains.
-- In Redis: a STRING of two little-endian doubles, 16 bytes, so that nothing is lost in writing numbers down.
local capacity, rate = ...
local tolerance = 0.1 * rate / 1e6
if tolerance > 1e-9 then tolerance = 1e-9 end

-- For all v of interest v - v % 1 is floor(v), without a call.
local function whole_room(level)
  local room = capacity - level + tolerance
  room = room - room % 1
  if level > capacity - room + tolerance then return room > 0 and room - 1 or 0 end
  if level <= capacity - (room + 1) + tolerance then return room + 1 end
  return room
end

local function drain_time(level, target)
  if level <= target then return 0 end
  local elapsed = math.ceil(((level - target) * 1e6) / rate)
  while elapsed > 0 and level - ((elapsed - 1) * rate) / 1e6 <= target do elapsed = elapsed - 1 end
  while level - (elapsed * rate) / 1e6 > target do elapsed = elapsed + 1 end
  return elapsed
end

local function transition(now, cost, raw)
  local level, since = 0, now
  if raw then level, since = struct.unpack('<dd', raw) end
  if level > capacity then level = capacity end
  local reanchored = since - now > (capacity / rate) * 1e6
  if reanchored then since = now end
  local at = since > now and since or now
  local left = level - ((at - since) * rate) / 1e6
  if left <= tolerance then left = 0 end

  if cost > 0 and left <= capacity - cost + tolerance then
    local after = left + cost
    if after > capacity then after = capacity end
    return true, whole_room(after), 0, at - now + drain_time(after, tolerance), 0, struct.pack('<dd', after, at), true
  end
  local room = whole_room(left)
  local reset = left == 0 and 0 or since - now + drain_time(level, tolerance)
  if cost == 0 then return true, room, 0, reset, 0 end
  local retry = math.huge
  if cost <= capacity then retry = since - now + drain_time(level, capacity - cost + tolerance) end
  if not reanchored then return false, room, retry, reset, 0 end
  return false, room, retry, reset, 0, struct.pack('<dd', level, now)
end

return transition
