-- Concurrency. Twin: concurrency.ts and places.ts, which explain.
--   x   limit
--   y   ttl in microseconds
-- In Redis: a STRING, a header and then the permits in the order in which they end, 20 bytes each:
--   header   until when the key is blocked, the units of all permits, the latest time that one was taken or kept at, when the last of them ends
--            (doubles); the index of the first that counts, how many places are written, and how many of these are live (4 bytes each)
--   permit   what it is known by and when it ends (doubles), and its units (4 bytes); no units: it was given back, or kept for longer further down
-- Few permits are read and written whole. Of many only the header, the permits that are looked for and those that change move, and what is dead is
-- dropped when it is more than what is live. What is there behind the last place means nothing.
-- Read piece by piece, and kept as a table from one attempt of a call to the next.
local READS_WHOLE = 'pieces'
local HEADER, HEADER_BYTES, PERMIT, PERMIT_BYTES = '<ddddI4I4I4', 44, '<ddI4', 20
-- A hundred permits come with the header.
local READ_END, FEW_BYTES = '2043', 2044
-- Of more of them so many are read at a time.
local CHUNK = 64
local SMALL_STEP, SOON, MANY_DEAD = 1000, 100000, 64

-- `raw` is what was read already, if it was.
local function read(key, raw)
  if type(raw) ~= 'string' then raw = call('GETRANGE', key, '0', READ_END) end
  if raw == '' then return nil, nil, false, 0 end
  local blocked_until, total, latest, newest, head, count, live = struct.unpack(HEADER, raw)
  -- `added` are permits behind those that are written, the first `count - written` of them; `changed` the units of written ones, which `patched` lists.
  return { key = key, raw = raw, blocked_until = blocked_until, total = total, latest = latest, newest = newest, head = head,
    count = count, written = count, live = live, added = {}, changed = {}, patched = {}, chunks = {} }, nil, true, blocked_until
end

local function empty(key)
  return { key = key, raw = '', blocked_until = 0, total = 0, latest = 0, newest = 0, head = 0, count = 0, written = 0, live = 0,
    added = {}, changed = {}, patched = {}, chunks = {} }
end

-- Before the first byte of the permit at an index.
local function offset_of(index) return HEADER_BYTES + index * PERMIT_BYTES end

-- The permits of a chunk, as they are written.
local function chunk_at(places, number)
  local text = places.chunks[number]
  if not text then
    local from = offset_of(number * CHUNK)
    text = call('GETRANGE', places.key, format('%d', from), format('%d', from + CHUNK * PERMIT_BYTES - 1))
    places.chunks[number] = text
  end
  return text
end

-- What it is known by, when it ends, and its units.
local function permit_at(places, index)
  if index >= places.written then
    local one = places.added[index - places.written + 1]
    return one.id, one.ends, one.units
  end
  local at, id, ends, units = offset_of(index)
  if at + PERMIT_BYTES <= #places.raw then id, ends, units = struct.unpack(PERMIT, places.raw, at + 1)
  else
    local number = math.floor(index / CHUNK)
    id, ends, units = struct.unpack(PERMIT, chunk_at(places, number), (index - number * CHUNK) * PERMIT_BYTES + 1)
  end
  return id, ends, places.changed[index] or units
end

local function units_at(places, index)
  local _, _, units = permit_at(places, index)
  return units
end

local function next_end(places, now) return math.max(now + y, places.newest + 1) end

-- The index of the first that is not over, the units of those from there on, and how many live ones are before it.
local function held_at(places, now)
  local index, used, gone = places.head, places.total, 0
  while index < places.count do
    local _, ends, units = permit_at(places, index)
    if ends > now then break end
    if units > 0 then gone = gone + 1 end
    used, index = used - units, index + 1
  end
  return index, used, gone
end

local function freed_at(places, index, used, room)
  local freed = 0
  while used > room do
    local _, ends, units = permit_at(places, index)
    if units > 0 then freed = ends end
    used, index = used - units, index + 1
  end
  return freed
end

-- The same, with a permit more. What was before stays as it is, in case that nothing comes of it.
local function take(places, now, first, used, gone, ends, cost)
  local added = places.added
  added[places.count - places.written + 1] = { id = ends, ends = ends, units = cost }
  return { key = places.key, raw = places.raw, blocked_until = places.blocked_until, total = used + cost,
    latest = math.max(places.latest, now), newest = ends, head = first, count = places.count + 1, written = places.written,
    live = places.live - gone + 1, added = added, changed = places.changed, patched = places.patched, chunks = places.chunks }
end

-- After a large step back of the clock.
local function shifted(places, now)
  local back, next = places.latest - now, empty(places.key)
  next.blocked_until, next.latest = places.blocked_until, now
  for index = held_at(places, places.latest), places.count - 1 do
    local id, ends, units = permit_at(places, index)
    if units > 0 then
      next.count, next.live, next.total, next.newest = next.count + 1, next.live + 1, next.total + units, ends - back
      next.added[next.count] = { id = id, ends = ends - back, units = units }
    end
  end
  return next
end

local function transition(now, cost, places)
  if not places then
    if cost == 0 then return x, 0, 0, 0 end
    if cost > x then return x, math.huge, 0, 0 end
    return x - cost, 0, y, 0, take(empty(), now, 0, 0, 0, now + y, cost)
  end
  local is_ahead = places.latest - now > math.max(y, SMALL_STEP)
  if is_ahead then places = shifted(places, now) end
  local first, used, gone = held_at(places, now)
  local room = math.max(0, x - used)
  if cost > 0 and cost <= room then
    local ends = next_end(places, now)
    return room - cost, 0, ends - now, 0, take(places, now, first, used, gone, ends, cost)
  end
  local reset = used == 0 and 0 or places.newest - now
  if cost == 0 then return room, 0, reset, 0 end
  local retry = cost > x and math.huge or freed_at(places, first, used, x - cost) - now
  return room, retry, reset, 0, is_ahead and places or nil
end

local function header(places, head, count)
  return struct.pack(HEADER, places.blocked_until, places.total, places.latest, places.newest, head, count, places.live)
end

-- All that is live, as text. `raw` is everything that is written.
local function live_text(places, raw)
  local parts = {}
  local all_live = places.count - places.head == places.live and not places.patched[1]
  if all_live then parts[1] = string.sub(raw, offset_of(places.head) + 1, offset_of(math.min(places.written, places.count)))
  else
    for index = places.head, math.min(places.written, places.count) - 1 do
      local id, ends, units = struct.unpack(PERMIT, raw, offset_of(index) + 1)
      units = places.changed[index] or units
      if units > 0 then parts[#parts + 1] = struct.pack(PERMIT, id, ends, units) end
    end
  end
  for index = math.max(places.written, places.head), places.count - 1 do
    local one = places.added[index - places.written + 1]
    if one.units > 0 then parts[#parts + 1] = struct.pack(PERMIT, one.id, one.ends, one.units) end
  end
  return table.concat(parts)
end

local function write(key, _, places, _, reset)
  local dead, end_of_written = places.count - places.live, offset_of(places.written)
  local is_small = end_of_written <= FEW_BYTES
  if is_small or dead > places.live + MANY_DEAD or reset <= SOON then
    local is_read = places.written == 0 or end_of_written <= #places.raw
    local raw = is_read and places.raw or call('GET', key)
    call('SET', key, header(places, 0, places.live) .. live_text(places, raw), set_option, expiry(reset))
    return
  end
  for _, index in ipairs(places.patched) do
    call('SETRANGE', key, format('%d', offset_of(index) + 16), struct.pack('<I4', places.changed[index]))
  end
  local parts = {}
  for index = places.written, places.count - 1 do
    local one = places.added[index - places.written + 1]
    parts[#parts + 1] = struct.pack(PERMIT, one.id, one.ends, one.units)
  end
  if parts[1] then call('SETRANGE', key, format('%d', end_of_written), table.concat(parts)) end
  call('SETRANGE', key, '0', header(places, places.head, places.count))
  call(expire_command, key, expiry(reset))
end

local function penalize(now, cost, places)
  local room = transition(now, 0, places)
  local spent = math.min(cost, room)
  if spent == 0 then return nil, 0 end
  local _, _, _, _, state = transition(now, spent, places)
  return state, spent
end

-- Those who give one back most often hold a recent one.
local function find_recent(places, id)
  local last = math.min(places.written, places.count) - 1
  local known_by = struct.pack('<d', id)
  for number = math.floor(last / CHUNK), math.max(0, math.floor(last / CHUNK) - 1), -1 do
    local at = string.find(chunk_at(places, number), known_by, 1, true)
    if at and at % PERMIT_BYTES == 1 then
      local index = number * CHUNK + (at - 1) / PERMIT_BYTES
      if index >= places.head and index <= last and units_at(places, index) > 0 then return index end
    end
  end
end

-- Among those that were not kept for longer the order of ends is that of names.
local function find_by_end(places, id)
  local low, high = places.head, math.min(places.written, places.count)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local _, ends = permit_at(places, middle)
    if ends < id then low = middle + 1 else high = middle end
  end
  if low < math.min(places.written, places.count) and permit_at(places, low) == id then return low end
end

-- Its bytes are looked for, which is faster than reading one by one.
local function find_by_bytes(places, id)
  local raw, known_by, from = places.raw, struct.pack('<d', id), offset_of(places.head) + 1
  if offset_of(places.written) > #raw then
    raw = call('GET', places.key)
    places.raw = raw
  end
  while true do
    local at = string.find(raw, known_by, from, true)
    if not at or at > offset_of(places.written) then return end
    local index = (at - 1 - HEADER_BYTES) / PERMIT_BYTES
    if index % 1 == 0 then
      local _, _, units = permit_at(places, index)
      if units > 0 and index < places.count then return index end
    end
    from = at + 1
  end
end

-- The index of a permit that is not over, when it ends and its units.
local function find(places, id, now)
  local found
  for index = places.count - 1, math.max(places.written, places.head), -1 do
    local one = places.added[index - places.written + 1]
    if one.id == id and one.units > 0 then found = index break end
  end
  local is_many = offset_of(places.written) > #places.raw
  if not found and is_many then found = find_recent(places, id) or find_by_end(places, id) end
  if not found or units_at(places, found) == 0 then found = find_by_bytes(places, id) end
  if not found then return end
  local _, ends, units = permit_at(places, found)
  if ends > now and units > 0 then return found, ends, units end
end

local function set_units(places, index, units)
  if index >= places.written then
    places.added[index - places.written + 1].units = units
    return
  end
  if not places.changed[index] then places.patched[#places.patched + 1] = index end
  places.changed[index] = units
end

-- Takes units out of a permit, or all of it. What is dead at either end is passed over for good.
local function without(places, index, units, there)
  set_units(places, index, there - units)
  places.total = places.total - units
  if units < there then return end
  places.live = places.live - 1
  while places.head < places.count and units_at(places, places.head) == 0 do places.head = places.head + 1 end
  while places.count > places.head and units_at(places, places.count - 1) == 0 do places.count = places.count - 1 end
  local _, ends = 0, 0
  if places.count > places.head then _, ends = permit_at(places, places.count - 1) end
  places.newest = ends
  if places.count < places.written then
    for at = 1, #places.added do places.added[at] = nil end
    places.written = places.count
  end
end

local function refund(now, cost, places, _, spent_at, spent_until)
  if not places or cost == 0 then return nil, 0 end
  if spent_at then
    local index, _, units = find(places, spent_until, now)
    if not index then return nil, 0 end
    local back = math.min(cost, units)
    without(places, index, back, units)
    return places, back
  end
  local _, used = held_at(places, now)
  local back = math.min(cost, used)
  if back == 0 then return nil, 0 end
  local left = back
  while left > 0 do
    local index = places.count - 1
    local _, _, units = permit_at(places, index)
    local some = math.min(left, units)
    without(places, index, some, units)
    left = left - some
  end
  return places, back
end

local function extend(now, places, id)
  if not places then return nil, 0 end
  local index, ends, units = find(places, id, now)
  if not index then return nil, 0 end
  local later = ends == places.newest and math.max(now + y, ends) or next_end(places, now)
  without(places, index, units, units)
  places.added[places.count - places.written + 1] = { id = id, ends = later, units = units }
  places.count, places.live, places.total, places.newest = places.count + 1, places.live + 1, places.total + units, later
  places.latest = math.max(places.latest, now)
  return places, units
end

-- Writes a state in the place of another, for as long as it or the block lasts.
local function replace(key, blocked_until, reset, places)
  if not reset then
    local _
    _, _, reset = transition(now, 0, places)
  end
  local lasts = math.max(reset, blocked_until - now)
  if lasts > 0 then write(key, nil, places, nil, lasts) else call('DEL', key) end
end

-- Blocks the key, or ends its block. The permits are kept for as long as they would have been.
local function seal(key, places, _, blocked_until)
  places = places or empty(key)
  places.blocked_until = blocked_until
  replace(key, blocked_until, nil, places)
end
