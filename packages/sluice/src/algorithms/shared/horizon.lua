-- A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot.
-- State: whole microsecond, and fraction of a microsecond beyond it. Twin: horizon.ts, which explains.
-- In Redis: a STRING of decimal digits when the fraction is 0, which Redis keeps as an 8-byte integer and can add to in
-- place, and that is so for every rate whose interval is whole microseconds; otherwise 'f' and two little-endian doubles, and 3 more bytes so that it is longer than any digits.
local capacity, interval, delays = ...
local tolerance = interval * 1e-9
if tolerance > 0.1 then tolerance = 0.1 end
local span, is_whole = capacity * interval, interval % 1 == 0

-- Here and below v - v % 1 is floor(v), without a call. In whole microseconds the room is a whole division.
local function whole_room(distance)
  local room = capacity
  if is_whole and distance % 1 == 0 then
    room = capacity - (distance + -distance % interval) / interval
    if room < 0 then room = 0 end
  elseif distance > tolerance then
    room = capacity - (distance - tolerance) / interval
    room = room - room % 1
    if room < 0 then room = 0 end
    if distance > (capacity - room) * interval + tolerance then room = room > 0 and room - 1 or 0
    elseif distance <= (capacity - (room + 1)) * interval + tolerance then room = room + 1 end
  end
  return room
end

local function time_until(distance, fraction, target)
  local elapsed = 0
  if distance + fraction > target then
    elapsed = math.ceil(distance + fraction - target)
    while elapsed > 0 and distance - (elapsed - 1) + fraction <= target do elapsed = elapsed - 1 end
    while distance - elapsed + fraction > target do elapsed = elapsed + 1 end
  end
  return elapsed
end

local function written(whole, fraction)
  local text = whole
  if fraction > 0 then text = struct.pack('<Bddxxx', 102, whole, fraction) end
  return text
end

-- The horizon that counts, and how far it is away.
local function current(now, raw, stored)
  local whole, fraction = now, 0
  if stored then whole = stored
  elseif raw then whole, fraction = struct.unpack('<dd', raw, 2) end
  local before = whole - now + fraction
  local reanchored = before > 2 * span
  if reanchored then
    before = span
    fraction = before % 1
    whole = now + (before - fraction)
  elseif before <= tolerance then whole, fraction, before = now, 0, 0 end
  return whole, fraction, before, reanchored
end

local function transition(now, cost, raw, stored)
  local whole, fraction, before, reanchored = current(now, raw, stored)
  local ahead, retry, reset, delay, state, delta = whole - now, 0, 0, 0, nil, nil
  local fits = (capacity - cost) * interval + tolerance
  if cost > 0 and before <= fits then
    if delays == '1' and fraction == 0 then delay = ahead
    elseif delays == '1' then
      delay = time_until(ahead, fraction, tolerance)
    end
    local beyond = fraction + cost * interval
    fraction = beyond % 1
    whole = whole + (beyond - fraction)
    ahead = whole - now
    before = ahead + fraction
    if fraction == 0 then
      state = whole
      if stored then delta = whole - stored end
    else
      state = written(whole, fraction)
    end
  elseif cost > 0 then
    retry = math.huge
    if cost <= capacity then
      retry = time_until(ahead, fraction, fits)
    end
    if reanchored then
      state = written(whole, fraction)
    end
  end
  -- In whole microseconds there is nothing to search for.
  if fraction == 0 then reset = ahead
  else
    reset = time_until(ahead, fraction, tolerance)
  end
  if cost == 0 and delays == '1' then delay = reset end
  local remaining = whole_room(before)
  return remaining, retry, reset, delay, state, delta
end

-- The next state, if it changes, and by how many units.
local function moved(whole, fraction, by)
  if by == 0 then return nil, 0 end
  local beyond = fraction + by
  local rest = beyond % 1
  return written(whole + (beyond - rest), rest), math.abs(by) / interval
end

local function penalize(now, cost, raw, stored)
  local whole, fraction, before = current(now, raw, stored)
  return moved(whole, fraction, math.max(0, math.min(cost * interval, span - before)))
end

local function refund(now, cost, raw, stored, spent_at, spent_until, spent_cost)
  local whole, fraction, before = current(now, raw, stored)
  local back = math.min(cost * interval, before)
  if spent_at then
    if delays ~= '1' then back = math.min(back, spent_cost * interval - (now - spent_at))
    -- Behind a slot that is given back others may stand, who go on waiting for theirs: only the last one is free again.
    elseif now + time_until(whole - now, fraction, tolerance) ~= spent_until then back = 0 end
  end
  return moved(whole, fraction, -math.max(0, back))
end

return transition, penalize, refund
