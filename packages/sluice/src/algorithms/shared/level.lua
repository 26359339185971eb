-- A level that drains at a steady rate: what a token bucket has spent, what a leaky bucket holds.
-- State: level in units, and the whole microsecond it was measured at. Twin: level.ts, which explains.
-- In Redis: a STRING of 'l' and two little-endian doubles, so that nothing is lost in writing numbers down, and 3 more
-- bytes so that it is longer than any digits.
local capacity, rate = ...
local tolerance = 0.1 * rate / 1e6
if tolerance > 1e-9 then tolerance = 1e-9 end

-- v - v % 1 is floor(v), without a call.
local function whole_room(level)
  local room = capacity - level + tolerance
  room = room - room % 1
  if level > capacity - room + tolerance then room = room > 0 and room - 1 or 0
  elseif level <= capacity - (room + 1) + tolerance then room = room + 1 end
  return room
end

local function drain_time(from, target)
  local elapsed = 0
  if from > target then
    elapsed = math.ceil(((from - target) * 1e6) / rate)
    while elapsed > 0 and from - ((elapsed - 1) * rate) / 1e6 <= target do elapsed = elapsed - 1 end
    while from - (elapsed * rate) / 1e6 > target do elapsed = elapsed + 1 end
  end
  return elapsed
end

-- The level as stored and since when, and what is left of it at the time that counts.
local function current(now, raw)
  local level, since = 0, now
  if raw then level, since = struct.unpack('<dd', raw, 2) end
  if level > capacity then level = capacity end
  local reanchored = since - now > (capacity / rate) * 1e6
  if reanchored then since = now end
  local at = since > now and since or now
  local left = level - ((at - since) * rate) / 1e6
  if left <= tolerance then left = 0 end
  return level, since, at, left, reanchored
end

local function transition(now, cost, raw)
  local level, since, at, left, reanchored = current(now, raw)
  local retry, reset, state, delta = 0, 0, nil, nil
  if cost > 0 and left <= capacity - cost + tolerance then
    left = left + cost
    if left > capacity then left = capacity end
    state, delta, level, since = struct.pack('<Bddxxx', 108, left, at), true, left, at
  elseif cost > 0 then
    retry = math.huge
    if cost <= capacity then
      local drained = drain_time(level, capacity - cost + tolerance)
      retry = since - now + drained
    end
    if reanchored then state = struct.pack('<Bddxxx', 108, level, now) end
  end
  if left > 0 then
    local drained = drain_time(level, tolerance)
    reset = since - now + drained
  end
  local remaining = whole_room(left)
  return remaining, retry, reset, 0, state, delta
end

-- The next state, if it changes, and by how many units.
local function penalize(now, cost, raw)
  local _, _, at, left = current(now, raw)
  local spent = math.min(cost, capacity - left)
  if spent <= 0 then return nil, 0 end
  return struct.pack('<Bddxxx', 108, left + spent, at), spent
end

local function refund(now, cost, raw, _, spent_at, _, spent_cost)
  local _, _, at, left = current(now, raw)
  local back = math.min(cost, left)
  if spent_at then
    back = math.min(back, spent_cost - ((at - spent_at) * rate) / 1e6)
  end
  if back <= 0 then return nil, 0 end
  return struct.pack('<Bddxxx', 108, left - back, at), back
end

return transition, penalize, refund
