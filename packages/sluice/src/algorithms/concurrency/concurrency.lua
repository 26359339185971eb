-- Concurrency. Twin: concurrency.ts and places.ts, which explain.
--   x   limit
--   y   ttl in microseconds
-- In Redis: a header, then the permits in the order in which they end, 20 bytes each:
--   header   until when the key is blocked, the units of all permits, the latest time that one was taken or kept at (doubles)
--   permit   what it is known by and when it ends (doubles), and its units (4 bytes)
-- Read and written whole.
local READS_WHOLE = true
local HEADER_BYTES, PERMIT_BYTES, SMALL_STEP = 24, 20, 1000

-- The state as transition takes it, nothing, whether it is there, and until when the key is blocked.
local function read(key, raw)
  if raw == nil then raw = call('GET', key) end
  if not raw then return nil, nil, false, 0 end
  local blocked_until = struct.unpack('<d', raw)
  return raw, nil, true, blocked_until
end

local function write(key, found, state, _, reset)
  if found ~= false then call('SET', key, state, set_option, expiry(reset))
  -- Nothing was found, so if something is there it is none of ours: reading it says so in the server's words.
  elseif not call('SET', key, state, set_option, expiry(reset), 'NX') then call('GET', key) end
end

local function count_of(places) return (#places - HEADER_BYTES) / PERMIT_BYTES end

-- Before the first byte of the permit at an index.
local function offset_of(index) return HEADER_BYTES + index * PERMIT_BYTES end

local function permit_at(places, index) return struct.unpack('<ddI4', places, offset_of(index) + 1) end

local function newest_end(places)
  if #places == HEADER_BYTES then return 0 end
  local ends = struct.unpack('<d', places, #places - PERMIT_BYTES + 9)
  return ends
end

local function next_end(places, now) return math.max(now + y, newest_end(places) + 1) end

-- How many are over, and the units of the others.
local function held_at(places, now)
  local _, used = struct.unpack('<dd', places)
  local expired, count = 0, count_of(places)
  while expired < count do
    local _, ends, units = permit_at(places, expired)
    if ends > now then break end
    used, expired = used - units, expired + 1
  end
  return expired, used
end

local function freed_at(places, expired, used, room)
  local index, freed = expired, 0
  while used > room do
    local _, ends, units = permit_at(places, index)
    used, index, freed = used - units, index + 1, ends
  end
  return freed
end

local function header(blocked_until, total, latest) return struct.pack('<ddd', blocked_until, total, latest) end

local function permit(id, ends, units) return struct.pack('<ddI4', id, ends, units) end

-- `used` are the units of those that are not over.
local function take(places, now, expired, used, ends, cost)
  local blocked_until, _, latest = struct.unpack('<ddd', places)
  return header(blocked_until, used + cost, math.max(latest, now)) .. string.sub(places, offset_of(expired) + 1)
    .. permit(ends, ends, cost)
end

-- After a large step back of the clock.
local function shifted(places, now)
  local blocked_until, _, latest = struct.unpack('<ddd', places)
  local expired, used = held_at(places, latest)
  local parts = { header(blocked_until, used, now) }
  for index = expired, count_of(places) - 1 do
    local id, ends, units = permit_at(places, index)
    parts[#parts + 1] = permit(id, ends - (latest - now), units)
  end
  return table.concat(parts)
end

local function transition(now, cost, places)
  if not places then
    if cost == 0 then return x, 0, 0, 0 end
    if cost > x then return x, math.huge, 0, 0 end
    return x - cost, 0, y, 0, header(0, cost, now) .. permit(now + y, now + y, cost)
  end
  local _, _, latest = struct.unpack('<ddd', places)
  local is_ahead = latest - now > math.max(y, SMALL_STEP)
  if is_ahead then places = shifted(places, now) end
  local expired, used = held_at(places, now)
  local room = math.max(0, x - used)
  if cost > 0 and cost <= room then
    local ends = next_end(places, now)
    return room - cost, 0, ends - now, 0, take(places, now, expired, used, ends, cost)
  end
  local reset = used == 0 and 0 or newest_end(places) - now
  if cost == 0 then return room, 0, reset, 0 end
  local retry = cost > x and math.huge or freed_at(places, expired, used, x - cost) - now
  return room, retry, reset, 0, is_ahead and places or nil
end

local function penalize(now, cost, places)
  local room = transition(now, 0, places)
  local spent = math.min(cost, room)
  if spent == 0 then return nil, 0 end
  local _, _, _, _, state = transition(now, spent, places)
  return state, spent
end

-- The offset of a permit that is not over, when it ends and its units. Its bytes are looked for, which is faster than reading one by one.
local function find(places, id, now)
  local known_by, from = struct.pack('<d', id), HEADER_BYTES + 1
  while true do
    local at = string.find(places, known_by, from, true)
    if not at then return end
    if (at - 1 - HEADER_BYTES) % PERMIT_BYTES == 0 then
      local _, ends, units = struct.unpack('<ddI4', places, at)
      if ends > now then return at - 1, ends, units end
      return
    end
    from = at + 1
  end
end

local function without(places, offset, units, there)
  local blocked_until, total, latest = struct.unpack('<ddd', places)
  local id, ends = struct.unpack('<dd', places, offset + 1)
  local rest = units < there and permit(id, ends, there - units) or ''
  return header(blocked_until, total - units, latest) .. string.sub(places, HEADER_BYTES + 1, offset) .. rest
    .. string.sub(places, offset + PERMIT_BYTES + 1)
end

local function refund(now, cost, places, _, spent_at, spent_until)
  if not places or cost == 0 then return nil, 0 end
  if spent_at then
    local offset, _, units = find(places, spent_until, now)
    if not offset then return nil, 0 end
    local back = math.min(cost, units)
    return without(places, offset, back, units), back
  end
  local _, used = held_at(places, now)
  local back = math.min(cost, used)
  if back == 0 then return nil, 0 end
  local left = back
  while left > 0 do
    local index = count_of(places) - 1
    local _, _, units = permit_at(places, index)
    local some = math.min(left, units)
    places, left = without(places, offset_of(index), some, units), left - some
  end
  return places, back
end

local function extend(now, places, id)
  if not places then return nil, 0 end
  local offset, ends, units = find(places, id, now)
  if not offset then return nil, 0 end
  local newest = newest_end(places)
  local later = ends == newest and math.max(now + y, newest) or next_end(places, now)
  local blocked_until, total, latest = struct.unpack('<ddd', places)
  return header(blocked_until, total, math.max(latest, now)) .. string.sub(places, HEADER_BYTES + 1, offset)
    .. string.sub(places, offset + PERMIT_BYTES + 1) .. permit(id, later, units), units
end

-- Writes a state in the place of another. The block stands in it.
local function replace(key, blocked_until, reset, state)
  local lasts = math.max(reset, blocked_until - now)
  if lasts > 0 then call('SET', key, state, set_option, expiry(lasts)) else call('DEL', key) end
end

-- Blocks the key, or ends its block. The permits are kept for as long as they would have been.
local function seal(key, places, _, blocked_until)
  places = places or header(0, 0, 0)
  local _, total, latest = struct.unpack('<ddd', places)
  local _, _, reset = transition(now, 0, places)
  replace(key, blocked_until, reset, header(blocked_until, total, latest) .. string.sub(places, HEADER_BYTES + 1))
end
