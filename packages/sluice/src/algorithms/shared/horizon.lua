-- A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot. Twin: horizon.ts,
-- which explains.
--   x   capacity
--   y   microseconds a unit takes
--   z   'd': the caller waits for its slot; 'n': the policy has a name, so the state says under which numbers it was written
-- In Redis: a STRING of decimal digits when the fraction is 0 and the policy has no name, which Redis keeps as an 8-byte integer and can
-- add to in place; that is so for every rate whose interval is whole microseconds. Otherwise 'f' and two little-endian doubles, whole
-- microsecond and fraction, and 3 more bytes so that it is longer than any digits; with a name four doubles: interval and time of writing too.
local tolerance = y * 1e-9
if tolerance > 0.1 then tolerance = 0.1 end
local span, is_whole = x * y, y % 1 == 0
local grain = x < 32 and 0 or 4 * y - 4 * y % 1000
local delays, by_name = string.find(z, 'd', 1, true), string.find(z, 'n', 1, true)

-- Here and below v - v % 1 is floor(v), without a call. In whole microseconds the room is a whole division.
local function whole_room(distance)
  local room = x
  if is_whole and distance % 1 == 0 then
    room = x - (distance + -distance % y) / y
    if room < 0 then room = 0 end
  elseif distance > tolerance then
    room = x - (distance - tolerance) / y
    room = room - room % 1
    if room < 0 then room = 0 end
    if distance > (x - room) * y + tolerance then room = room > 0 and room - 1 or 0
    elseif distance <= (x - (room + 1)) * y + tolerance then room = room + 1 end
  end
  return room
end

local function time_until(distance, fraction, target)
  if distance + fraction <= target then return 0 end
  local elapsed = math.ceil(distance + fraction - target)
  while elapsed > 0 and distance - (elapsed - 1) + fraction <= target do elapsed = elapsed - 1 end
  while distance - elapsed + fraction > target do elapsed = elapsed + 1 end
  return elapsed
end

local function written(now, whole, fraction)
  if by_name then return struct.pack('<Bdddd', 102, whole, fraction, y, now) end
  if fraction > 0 then return struct.pack('<Bddxxx', 102, whole, fraction) end
  return whole
end

-- The horizon that counts, and how far it is away.
local function current(now, raw, stored)
  if not raw then return now, 0, 0, false end
  local whole, fraction, most = stored, 0, span
  if not stored then whole, fraction = struct.unpack('<dd', raw, 2) end
  if by_name then
    local interval, at = struct.unpack('<dd', raw, 18)
    local ahead = whole - at + fraction
    if interval ~= y then
      ahead = (ahead / interval) * y
      if ahead > 3155760000000000 then ahead = 3155760000000000 end
      fraction = ahead % 1
      whole = at + (ahead - fraction)
    end
    if ahead > most then most = ahead end
  end
  local before = whole - now + fraction
  if before <= tolerance then return now, 0, 0, false end
  if before <= 2 * most then return whole, fraction, before, false end
  fraction = most % 1
  return now + (most - fraction), fraction, most, true
end

local function transition(now, cost, raw, stored)
  local whole, fraction, before, reanchored = current(now, raw, stored)
  local ahead, retry, delay, state, delta = whole - now, 0, 0, nil, nil
  local fits = (x - cost) * y + tolerance
  if cost > 0 and before <= fits then
    if delays then delay = time_until(ahead, fraction, tolerance) end
    local beyond = fraction + cost * y
    fraction = beyond % 1
    whole = whole + (beyond - fraction)
    ahead = whole - now
    before = ahead + fraction
    state = written(now, whole, fraction)
    if stored and state == whole then delta = whole - stored elseif by_name then delta = true end
  elseif cost > 0 then
    retry = math.huge
    if cost <= x then retry = time_until(ahead, fraction, fits) end
    if reanchored then state = written(now, whole, fraction) end
  end
  -- In whole microseconds there is nothing to search for.
  local reset = ahead
  if fraction > 0 then reset = time_until(ahead, fraction, tolerance) end
  if cost == 0 and delays then delay = reset end
  return whole_room(before), retry, reset, delay, state, delta
end

-- The next state, if it changes, and by how many units.
local function moved(now, whole, fraction, by)
  if by == 0 then return nil, 0 end
  local beyond = fraction + by
  local rest = beyond % 1
  return written(now, whole + (beyond - rest), rest), math.abs(by) / y
end

local function penalize(now, cost, raw, stored)
  local whole, fraction, before = current(now, raw, stored)
  return moved(now, whole, fraction, math.max(0, math.min(cost * y, span - before)))
end

local function refund(now, cost, raw, stored, spent_at, spent_until, spent_cost)
  local whole, fraction, before = current(now, raw, stored)
  local back = math.min(cost * y, before)
  if spent_at then
    if not delays then back = math.min(back, spent_cost * y - (now - spent_at))
    -- Behind a slot that is given back others may stand, who go on waiting for theirs: only the last one is free again.
    elseif now + time_until(whole - now, fraction, tolerance) ~= spent_until then back = 0 end
  end
  return moved(now, whole, fraction, -math.max(0, back))
end
