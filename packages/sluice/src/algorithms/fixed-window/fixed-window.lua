-- Fixed window. State: window start, count. Arguments: limit, window (microseconds), align ('epoch' or 'first').
-- Twin: fixed-window.ts, which explains.
-- In Redis: usually the window starts at a whole second and the count is below a million. Then it is the integer start + count,
-- which Redis keeps in 8 bytes and can add to in place. Otherwise text: 'm1724400000250000:42'.
local limit, size, align = ...

local function stored_window(raw)
  local packed = tonumber(raw)
  if packed then
    local count = packed % 1e6
    return packed - count, count, true
  end
  local start, count = string.match(raw, '^m(%d+):(%d+)$')
  return tonumber(start), tonumber(count), false
end

local function written(start, count)
  if start % 1e6 == 0 and count < 1e6 then return start + count end
  return string.format('m%d:%d', start, count)
end

local function transition(now, cost, raw)
  local opens = align == 'epoch' and now - now % size or now
  local start, count, packed, reanchored
  if raw then
    start, count, packed = stored_window(raw)
    reanchored = start - now > size
    if reanchored then start, packed = opens, false
    elseif align == 'first' then
      if now - start >= size then start, count, packed = opens, 0, false end
    elseif start > now then
      local aligned = start - start % size
      start, packed = aligned, packed and start == aligned
    elseif start < opens then start, count, packed = opens, 0, false
    elseif start > opens then start, packed = opens, false end
  else start, count = opens, 0 end
  local until_end = start + size - now
  local room = limit - count
  if room < 0 then room = 0 end

  if cost > 0 and cost <= room then
    local total = count + cost
    if packed and total < 1e6 then return true, room - cost, 0, until_end, 0, start + total, cost end
    return true, room - cost, 0, until_end, 0, written(start, total)
  end
  local reset = count == 0 and 0 or until_end
  if cost == 0 then return true, room, 0, reset, 0 end
  local retry = cost > limit and math.huge or until_end
  if reanchored then return false, room, retry, reset, 0, written(start, count) end
  return false, room, retry, reset, 0
end

return transition
