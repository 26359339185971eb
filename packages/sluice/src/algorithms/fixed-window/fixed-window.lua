-- Fixed window. State: window start, count. Arguments: limit, window (microseconds), align ('epoch' or 'first').
-- Twin: fixed-window.ts, which explains. In Redis: see shared/counts.lua.
local load, save = require('shared/counts')

-- Returns allowed, remaining, retryAfter, resetAfter, delay, and the next state, if any. Microseconds.
local function transition(now, cost, limit, size, align, start, count)
  limit, size = tonumber(limit), tonumber(size)
  local opens = align == 'epoch' and now - (now % size) or now
  local reanchored = start and start - now > size
  if not start or reanchored then start, count = opens, count or 0
  elseif align == 'first' then
    if now - start >= size then start, count = opens, 0 end
  elseif start > now then start = start - (start % size)
  elseif start < opens then start, count = opens, 0
  else start = opens end
  local until_end = start + size - now
  local room = math.max(0, limit - count)

  if cost > 0 and cost <= room then return true, room - cost, 0, until_end, 0, start, count + cost end
  local reset = count == 0 and 0 or until_end
  if cost == 0 then return true, room, 0, reset, 0 end
  local retry = cost > limit and math.huge or until_end
  if reanchored then return false, room, retry, reset, 0, start, count end
  return false, room, retry, reset, 0
end

return load, transition, save
