-- Fixed window. Twin: fixed-window.ts, which explains.
--   x   limit
--   y   window in microseconds
--   z   'epoch' or 'first'
-- In Redis: usually the window starts at a whole second and the count is below a million. Then it is the integer start + count,
-- which Redis keeps in 8 bytes and can add to in place. Otherwise text: 'm01724400000250000:42'.
local function written(start, count)
  if start % 1e6 > 0 or count >= 1e6 then return string.format('m%017d:%d', start, count) end
  return start + count
end

-- The window that counts.
local function current(now, raw, stored)
  local opens = z == 'epoch' and now - now % y or now
  if not raw then return opens, 0, false end
  local start, count
  if stored then
    count = stored % 1e6
    start = stored - count
  else
    start, count = string.match(raw, '^m(%d+):(%d+)$')
    start, count = start + 0.0, count + 0.0
  end
  if start - now > y then return opens, count, true end
  if z == 'first' then
    if now - start >= y then return opens, 0, false end
    return start, count, false
  end
  if start > now then return start - start % y, count, false end
  if start < opens then return opens, 0, false end
  return opens, count, false
end

local function transition(now, cost, raw, stored)
  local start, count, reanchored = current(now, raw, stored)
  local until_end = start + y - now
  local remaining = x - count
  if remaining < 0 then remaining = 0 end

  local retry, reset, state, delta = 0, 0, nil, nil
  if count > 0 then reset = until_end end
  if cost > 0 and cost <= remaining then
    remaining, reset = remaining - cost, until_end
    state = written(start, count + cost)
    -- Only the count has grown: what is stored can be added to.
    if stored and state == stored + cost then delta = cost end
  elseif cost > 0 then
    retry = cost > x and math.huge or until_end
    if reanchored then state = written(start, count) end
  end
  return remaining, retry, reset, 0, state, delta
end

-- The next state, if it changes, and by how many units.
local function penalize(now, cost, raw, stored)
  local start, count = current(now, raw, stored)
  local spent = math.min(cost, x - count)
  if spent <= 0 then return nil, 0 end
  return written(start, count + spent), spent
end

local function refund(now, cost, raw, stored, spent_at, spent_until)
  local start, count = current(now, raw, stored)
  local back = math.min(cost, count)
  if spent_at and spent_until ~= start + y then back = 0 end
  if back == 0 then return nil, 0 end
  return written(start, count - back), back
end
