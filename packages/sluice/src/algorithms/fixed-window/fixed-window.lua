-- Fixed window. State: { window start, count }. Arguments: limit, window (microseconds), align ('epoch' or 'first').
-- Twin: fixed-window.ts, which explains. In Redis: see shared/counts.lua.
local counts = require('shared/counts')
local max, huge = math.max, math.huge

local function window_at(state, now, size, align, opens)
  if not state then return opens, 0 end
  local start, count = state[1], state[2]
  if align == 'first' then
    if now - start < size then return start, count end
    return opens, 0
  end
  if start > now then return start - (start % size), count end
  if start >= opens then return opens, count end
  return opens, 0
end

-- Returns allowed, remaining, retryAfter, resetAfter, delay, next; microseconds.
local function transition(state, now, cost, limit, size, align)
  limit, size = tonumber(limit), tonumber(size)
  local opens = align == 'epoch' and now - (now % size) or now
  local reanchored = state ~= nil and state[1] - now > size
  local start, count
  if reanchored then start, count = opens, state[2] else start, count = window_at(state, now, size, align, opens) end
  local until_end = start + size - now
  local room = max(0, limit - count)

  local reset = count == 0 and 0 or until_end

  if cost == 0 then return true, room, 0, reset, 0, nil end
  if cost <= room then return true, room - cost, 0, until_end, 0, { start, count + cost } end
  return false, room, cost > limit and huge or until_end, reset, 0, reanchored and { start, count } or nil
end

return { load = counts.load, transition = transition, save = counts.save }
