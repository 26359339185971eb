-- Fixed window. State: window start, count. Arguments: limit, window (microseconds), align ('epoch' or 'first').
-- Twin: fixed-window.ts, which explains.
-- In Redis: usually the window starts at a whole second and the count is below a million. Then it is the integer start + count,
-- which Redis keeps in 8 bytes and can add to in place. Otherwise text: 'm01724400000250000:42'.
local limit, size, align = ...

local function written(start, count)
  local text = start + count
  if start % 1e6 > 0 or count >= 1e6 then text = string.format('m%017d:%d', start, count) end
  return text
end

-- The window that counts.
local function current(now, raw, stored)
  local opens = align == 'epoch' and now - now % size or now
  local start, count, reanchored = opens, 0, false
  if raw then
    if stored then
      count = stored % 1e6
      start = stored - count
    else
      local text_start, text_count = string.match(raw, '^m(%d+):(%d+)$')
      start, count = tonumber(text_start), tonumber(text_count)
    end
    reanchored = start - now > size
    if reanchored then start = opens
    elseif align == 'first' then
      if now - start >= size then start, count = opens, 0 end
    elseif start > now then start = start - start % size
    elseif start < opens then start, count = opens, 0
    else start = opens end
  end
  return start, count, reanchored
end

local function transition(now, cost, raw, stored)
  local start, count, reanchored = current(now, raw, stored)
  local until_end = start + size - now
  local remaining = limit - count
  if remaining < 0 then remaining = 0 end

  local retry, reset, state, delta = 0, 0, nil, nil
  if count > 0 then reset = until_end end
  if cost > 0 and cost <= remaining then
    remaining, reset = remaining - cost, until_end
    state = written(start, count + cost)
    -- Only the count has grown: what is stored can be added to.
    if stored and state == stored + cost then delta = cost end
  elseif cost > 0 then
    retry = cost > limit and math.huge or until_end
    if reanchored then
      state = written(start, count)
    end
  end
  return remaining, retry, reset, 0, state, delta
end

-- The next state, if it changes, and by how many units.
local function penalize(now, cost, raw, stored)
  local start, count = current(now, raw, stored)
  local spent = math.min(cost, limit - count)
  if spent <= 0 then return nil, 0 end
  return written(start, count + spent), spent
end

local function refund(now, cost, raw, stored, spent_at, spent_until)
  local start, count = current(now, raw, stored)
  local back = math.min(cost, count)
  if spent_at and spent_until ~= start + size then back = 0 end
  if back == 0 then return nil, 0 end
  return written(start, count - back), back
end

return transition, penalize, refund
