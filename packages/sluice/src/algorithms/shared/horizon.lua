-- A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot.
-- State: whole microsecond, and fraction of a microsecond beyond it. Twin: horizon.ts, which explains.
-- In Redis: a STRING of decimal digits when the fraction is 0, which Redis keeps as an 8-byte integer and can add to in
-- place, and that is so for every rate whose interval is whole microseconds; otherwise 'f' and two little-endian doubles.
local capacity, interval, delays = ...
local tolerance = interval * 1e-9
if tolerance > 0.1 then tolerance = 0.1 end

-- Here and below v - v % 1 is floor(v), without a call.
local function whole_room(distance)
  local room = capacity
  if distance > tolerance then
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
  if fraction > 0 then text = 'f' .. struct.pack('<dd', whole, fraction) end
  return text
end

-- The horizon that counts, and how far it is away.
local function current(now, raw)
  local whole, fraction, stored = now, 0, nil
  if raw then
    stored = tonumber(raw)
    if stored then whole = stored else whole, fraction = struct.unpack('<dd', raw, 2) end
  end
  local before = whole - now + fraction
  local reanchored = before > 2 * (capacity * interval)
  if reanchored then
    before = capacity * interval
    fraction = before % 1
    whole = now + (before - fraction)
  elseif before <= tolerance then whole, fraction, before = now, 0, 0 end
  return whole, fraction, before, reanchored, stored
end

local function transition(now, cost, raw)
  local whole, fraction, before, reanchored, stored = current(now, raw)
  local ahead, retry, reset, delay, state, delta = whole - now, 0, 0, 0, nil, nil
  local fits = (capacity - cost) * interval + tolerance
  if cost > 0 and before <= fits then
    if delays == '1' then delay = fraction == 0 and ahead or time_until(ahead, fraction, tolerance) end
    local beyond = fraction + cost * interval
    fraction = beyond % 1
    whole = whole + (beyond - fraction)
    ahead = whole - now
    before = ahead + fraction
    if fraction == 0 then state, delta = whole, stored and whole - stored else state = written(whole, fraction) end
  elseif cost > 0 then
    retry = cost > capacity and math.huge or time_until(ahead, fraction, fits)
    if reanchored then state = written(whole, fraction) end
  end
  -- In whole microseconds there is nothing to search for.
  if fraction == 0 then reset = ahead else reset = time_until(ahead, fraction, tolerance) end
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

local function penalize(now, cost, raw)
  local whole, fraction, before = current(now, raw)
  return moved(whole, fraction, math.max(0, math.min(cost * interval, capacity * interval - before)))
end

local function refund(now, cost, raw, spent_at, spent_until, spent_cost)
  local whole, fraction, before = current(now, raw)
  local back = math.min(cost * interval, before)
  if spent_at then
    if delays ~= '1' then back = math.min(back, spent_cost * interval - (now - spent_at))
    -- Behind a slot that is given back others may stand, who go on waiting for theirs: only the last one is free again.
    elseif now + time_until(whole - now, fraction, tolerance) ~= spent_until then back = 0 end
  end
  return moved(whole, fraction, -math.max(0, back))
end

return transition, penalize, refund
