-- A level that drains at a steady rate: what a token bucket has spent, what a leaky bucket holds. Twin: level.ts, which explains.
--   x   capacity
--   y   units a second
-- In Redis: a whole level below a thousand is digits, the time in microseconds and three for the level, which Redis keeps in 8 bytes: that is
-- what one attempt leaves, and so what most keys hold. Otherwise 'l' and two little-endian doubles, level and time, so that nothing is lost
-- in writing numbers down, and 3 more bytes so that it is longer than any digits.
local tolerance = 0.1 * y / 1e6
if tolerance > 1e-9 then tolerance = 1e-9 end
local grain = x < 32 and 0 or 4e6 / y - 4e6 / y % 1000

-- v - v % 1 is floor(v), without a call.
local function whole_room(level)
  local room = x - level + tolerance
  room = room - room % 1
  if level > x - room + tolerance then room = room - 1
  elseif level <= x - (room + 1) + tolerance then room = room + 1 end
  return room > 0 and room or 0
end

local function drain_time(from, target)
  if from <= target then return 0 end
  local elapsed = math.ceil(((from - target) * 1e6) / y)
  while elapsed > 0 and from - ((elapsed - 1) * y) / 1e6 <= target do elapsed = elapsed - 1 end
  while from - (elapsed * y) / 1e6 > target do elapsed = elapsed + 1 end
  return elapsed
end

-- The level as stored and since when, and what is left of it at the time that counts.
local function current(now, raw)
  if not raw then return 0, now, now, 0, false end
  local level, since
  if #raw < 20 then level, since = string.sub(raw, -3) + 0.0, string.sub(raw, 1, -4) + 0.0
  else level, since = struct.unpack('<dd', raw, 2) end
  if level > y * 3155760000 then level = y * 3155760000 end
  local reanchored = since - now > (x / y) * 1e6
  if reanchored then since = now end
  local at = since > now and since or now
  local left = level - ((at - since) * y) / 1e6
  if left <= tolerance then left = 0 end
  return level, since, at, left, reanchored
end

local function written(level, at)
  if level % 1 == 0 and level < 1000 and at < 1e16 then return string.format('%d%03d', at, level) end
  return struct.pack('<Bddxxx', 108, level, at)
end

local function transition(now, cost, raw)
  local level, since, at, left, reanchored = current(now, raw)
  local retry, reset, state, delta = 0, 0, nil, nil
  if cost > 0 and left <= x - cost + tolerance then
    left = left + cost
    if left > x then left = x end
    state, level, since = written(left, at), left, at
    if raw and #raw >= 20 and #state >= 20 then delta = true end
  elseif cost > 0 then
    retry = math.huge
    if cost <= x then retry = since - now + drain_time(level, x - cost + tolerance) end
    if reanchored then state = written(level, now) end
  end
  if left > 0 then reset = since - now + drain_time(level, tolerance) end
  return whole_room(left), retry, reset, 0, state, delta
end

-- The next state, if it changes, and by how many units.
local function penalize(now, cost, raw)
  local _, _, at, left = current(now, raw)
  local spent = math.min(cost, x - left)
  if spent <= 0 then return nil, 0 end
  return written(left + spent, at), spent
end

local function refund(now, cost, raw, _, spent_at, _, spent_cost)
  local _, _, at, left = current(now, raw)
  local back = math.min(cost, left)
  if spent_at then back = math.min(back, spent_cost - ((at - spent_at) * y) / 1e6) end
  if back <= 0 then return nil, 0 end
  return written(left - back, at), back
end
