-- A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot.
-- State: whole microsecond, and fraction of a microsecond beyond it. Twin: horizon.ts, which explains.
-- In Redis: a STRING of decimal digits when the fraction is 0, which Redis keeps as an 8-byte integer and can add to in
-- place, and that is so for every rate whose interval is whole microseconds; otherwise 'f' and two little-endian doubles.
local capacity, interval, delays = ...
local tolerance = interval * 1e-9
if tolerance > 0.1 then tolerance = 0.1 end

-- For all v of interest v - v % 1 is floor(v), without a call.
local function whole_room(distance)
  if distance <= tolerance then return capacity end
  local room = capacity - (distance - tolerance) / interval
  room = room - room % 1
  if room < 0 then room = 0 end
  if distance > (capacity - room) * interval + tolerance then return room > 0 and room - 1 or 0 end
  if distance <= (capacity - (room + 1)) * interval + tolerance then return room + 1 end
  return room
end

local function time_until(distance, fraction, target)
  if distance + fraction <= target then return 0 end
  if fraction == 0 and target == tolerance then return distance end
  local elapsed = math.ceil(distance + fraction - target)
  while elapsed > 0 and distance - (elapsed - 1) + fraction <= target do elapsed = elapsed - 1 end
  while distance - elapsed + fraction > target do elapsed = elapsed + 1 end
  return elapsed
end

local function transition(now, cost, raw)
  local whole, fraction, stored = now, 0, nil
  if raw then
    stored = tonumber(raw)
    if stored then whole = stored else whole, fraction = struct.unpack('<dd', raw, 2) end
  end
  local before = whole - now + fraction
  local reanchored = before > 2 * (capacity * interval)
  if reanchored then
    local span = capacity * interval
    fraction = span % 1
    whole, before = now + (span - fraction), span
  elseif before <= tolerance then whole, fraction, before = now, 0, 0 end

  if cost > 0 and before <= (capacity - cost) * interval + tolerance then
    local delay = delays == '1' and time_until(whole - now, fraction, tolerance) or 0
    local beyond = fraction + cost * interval
    fraction = beyond % 1
    whole = whole + (beyond - fraction)
    local ahead = whole - now
    local room, reset = whole_room(ahead + fraction), time_until(ahead, fraction, tolerance)
    if fraction > 0 then return true, room, 0, reset, delay, 'f' .. struct.pack('<dd', whole, fraction) end
    return true, room, 0, reset, delay, whole, stored and whole - stored
  end
  local room, wait = whole_room(before), time_until(whole - now, fraction, tolerance)
  if cost == 0 then return true, room, 0, wait, delays == '1' and wait or 0 end
  local retry = math.huge
  if cost <= capacity then retry = time_until(whole - now, fraction, (capacity - cost) * interval + tolerance) end
  if not reanchored then return false, room, retry, wait, 0 end
  if fraction > 0 then return false, room, retry, wait, 0, 'f' .. struct.pack('<dd', whole, fraction) end
  return false, room, retry, wait, 0, whole
end

return transition
