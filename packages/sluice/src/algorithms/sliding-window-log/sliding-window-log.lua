-- Sliding window log. Arguments: limit, window (microseconds). Twin: sliding-window-log.ts, which explains.
-- In Redis: a ring packed in a STRING. A header, then one entry for each admission:
--   header  newest time, units admitted so far and the moment until which the key is blocked (doubles), head, length,
--           capacity (4 bytes each), bytes of the two below
--   entry   its time, modulo 256^time_bytes: it lies less than a window before the newest, so that is enough to know it;
--           units admitted before it, modulo 256^unit_bytes, which is more than the limit
-- That is 5 bytes for a limit below 256 in a window below 71 minutes, 6 for a limit below 65536, 7 or 8 for longer or larger.
-- Only the header, the probed entries and the new entry move; a small log comes with its header.
local limit, size = ...
local ceil, floor, max, min, huge = math.ceil, math.floor, math.max, math.min, math.huge
local call, unpack_struct = redis.call, struct.unpack
local HEADER, HEADER_BYTES = '<dddI4I4I4BB', 38
local READ_END = '255'
local entry_formats = {}

local function entry_format(time_bytes, unit_bytes)
  local index = time_bytes * 16 + unit_bytes
  if not entry_formats[index] then entry_formats[index] = '<I' .. time_bytes .. 'I' .. unit_bytes end
  return entry_formats[index]
end

-- `read` is what was read of it already, if it was.
local function load(key, read)
  local raw = read or call('GETRANGE', key, '0', READ_END)
  if raw == '' then return nil end
  local newest, total, blocked_until, head, length, capacity, time_bytes, unit_bytes = unpack_struct(HEADER, raw)
  return {
    key = key, raw = raw, newest = newest, total = total, blocked_until = blocked_until,
    head = head, length = length, capacity = capacity,
    time_bytes = time_bytes, unit_bytes = unit_bytes, entry_bytes = time_bytes + unit_bytes,
    entry = entry_format(time_bytes, unit_bytes),
  }
end

-- The two stored numbers of the entry at an index.
local function stored(log, index)
  local at = HEADER_BYTES + ((log.head + index) % log.capacity) * log.entry_bytes
  if at + log.entry_bytes <= #log.raw then return unpack_struct(log.entry, log.raw, at + 1) end
  return unpack_struct(log.entry, call('GETRANGE', log.key, at, at + log.entry_bytes - 1))
end

local function time_at(log, index)
  if index == log.length - 1 then return log.newest end
  local time = stored(log, index)
  return log.newest - (log.newest - time) % 256 ^ log.time_bytes
end

local function units_from(log, index)
  if not log or index >= log.length then return 0 end
  if log.units then return log.units end
  local _, before = stored(log, index)
  return (log.total - before) % 256 ^ log.unit_bytes
end

local function first_index(from, length, holds)
  local low, step = from, 1
  while low + step - 1 < length and not holds(low + step - 1) do
    low = low + step
    step = step * 2
  end
  local high = min(length, low + step - 1)
  while low < high do
    local middle = floor((low + high) / 2)
    if holds(middle) then high = middle else low = middle + 1 end
  end
  return low
end

local function first_live(log, moment)
  if not log or log.length == 0 or time_at(log, 0) > moment then return 0 end
  return first_index(1, log.length, function(index) return time_at(log, index) > moment end)
end

-- After a large step back: one entry that carries its units by itself.
local function gathered(log, now)
  return { newest = now, length = 1, blocked_until = log.blocked_until, units = units_from(log, first_live(log, log.newest - size)) }
end

local function leaves(log, first, room)
  local enough = first_index(first + 1, log.length, function(index) return units_from(log, index) <= room end)
  return time_at(log, enough - 1)
end

-- As every transition, but the state is what load gives, and the next state what save takes.
local function transition(now, cost, state)
  local reanchored = state ~= nil and state.newest - now > size
  local log = reanchored and gathered(state, now) or state
  local at = log and max(now, log.newest) or now
  local first = first_live(log, at - size)
  local used = units_from(log, first)
  local room = max(0, limit - used)
  local reset = used == 0 and 0 or log.newest + size - now

  if cost == 0 then return room, 0, reset, 0 end
  local change = { log = state, drop = first, at = at, cost = cost }
  if reanchored then change.drop, change.cost = state.length, used + cost end
  if cost <= room then return room - cost, 0, at + size - now, 0, change end
  local retry = huge
  if cost <= limit then retry = leaves(log, first, limit - cost) + size - now end
  if not reanchored then return room, retry, reset, 0 end
  change.cost = used
  return room, retry, reset, 0, change
end

local function bytes_for(range)
  local bytes = 1
  while 256 ^ bytes < range do bytes = bytes + 1 end
  return bytes
end

local function header_of(log)
  return struct.pack(HEADER, log.newest, log.total, log.blocked_until, log.head, log.length, log.capacity,
    log.time_bytes, log.unit_bytes)
end

-- The slots from one to before another, as they are stored.
local function slots(log, from, to)
  if from >= to then return '' end
  local first, last = HEADER_BYTES + from * log.entry_bytes, HEADER_BYTES + to * log.entry_bytes - 1
  if last < #log.raw then return string.sub(log.raw, first + 1, last + 1) end
  return call('GETRANGE', log.key, first, last)
end

-- The entries from the oldest on, unrolled.
local function entries_of(log)
  local to = log.head + log.length
  return slots(log, log.head, min(to, log.capacity)) .. slots(log, 0, max(0, to - log.capacity))
end

-- A limit or a window has outgrown the entries: write them all anew, wider. Happens when a policy is changed, not in a check.
local function widened(log, time_bytes, unit_bytes)
  local wider, written = entry_format(time_bytes, unit_bytes), {}
  for index = 0, log.length - 1 do
    local units = units_from(log, index)
    written[index + 1] = struct.pack(wider, time_at(log, index) % 256 ^ time_bytes, (log.total - units) % 256 ^ unit_bytes)
  end
  return table.concat(written)
end

-- An eighth more, so that a log is never much larger than what it holds, and never larger than the limit needs.
local function rebuilt(log, entries, time_bytes, unit_bytes)
  log.time_bytes, log.unit_bytes, log.entry_bytes = time_bytes, unit_bytes, time_bytes + unit_bytes
  log.entry, log.head = entry_format(time_bytes, unit_bytes), 0
  log.capacity = max(log.length + 1, min(limit, log.length + ceil(log.length / 8) + 3))
  log.raw = string.rep('\0', HEADER_BYTES) .. entries .. string.rep('\0', (log.capacity - log.length) * log.entry_bytes)
  log.whole = true
end

-- Makes room for one more entry of the needed widths at the end of the ring.
local function make_room(log, units)
  local time_bytes = max(log.time_bytes, bytes_for(size))
  local unit_bytes = max(log.unit_bytes, bytes_for(max(limit, units) + 1))
  if time_bytes > log.time_bytes or unit_bytes > log.unit_bytes then
    rebuilt(log, widened(log, time_bytes, unit_bytes), time_bytes, unit_bytes)
  elseif log.length == log.capacity then
    rebuilt(log, entries_of(log), time_bytes, unit_bytes)
  end
end

local function spliced(raw, at, piece)
  return string.sub(raw, 1, at) .. piece .. string.sub(raw, at + #piece + 1)
end

local function save(key, change, expiry, set_option, expire_command)
  local log = change.log
  if not log or change.drop == log.length then
    log = { key = key, raw = '', newest = change.at, total = log and log.total or 0, head = 0, length = 0, capacity = 0,
      blocked_until = log and log.blocked_until or 0, time_bytes = 1, unit_bytes = 1, entry_bytes = 2 }
  else
    log.head, log.length = (log.head + change.drop) % log.capacity, log.length - change.drop
  end
  make_room(log, units_from(log, 0) + change.cost)

  local entry, entry_at = '', HEADER_BYTES
  if log.length == 0 or log.newest ~= change.at then
    entry_at = HEADER_BYTES + ((log.head + log.length) % log.capacity) * log.entry_bytes
    entry = struct.pack(log.entry, change.at % 256 ^ log.time_bytes, log.total % 256 ^ log.unit_bytes)
    log.newest, log.length = change.at, log.length + 1
  end
  log.total = log.total + change.cost
  local header = header_of(log)

  -- A short window's log is written whole, because PEXPIREAT drops a key at once when its last millisecond has begun.
  if size <= 100000 and not log.whole then log.raw, log.whole = call('GET', key), true end
  if log.whole then
    call('SET', key, spliced(spliced(log.raw, entry_at, entry), 0, header), set_option, expiry)
  else
    if entry ~= '' then call('SETRANGE', key, entry_at, entry) end
    call('SETRANGE', key, '0', header)
    call(expire_command, key, expiry)
  end
end

-- The live entries at a time, oldest first: { time, units, time, units, ... }.
local function history(log, now)
  local listed = {}
  if not log then return listed end
  local from = first_live(log, max(now, log.newest) - size)
  for index = from, log.length - 1 do
    listed[#listed + 1] = time_at(log, index)
    listed[#listed + 1] = units_from(log, index) - units_from(log, index + 1)
  end
  return listed
end

-- The change to save, if any, and by how many units.
local function penalize(now, cost, log)
  local room = transition(now, 0, log)
  local spent = min(cost, room)
  if spent == 0 then return nil, 0 end
  local _, _, _, _, change = transition(now, spent, log)
  return change, spent
end

-- Takes units out of the entry that was admitted then, or out of the newest ones. The entries behind it are written anew,
-- because each of them says how many units came before it.
local function refund(now, cost, log, _, spent_at, spent_until)
  if not log or log.newest - now > size then return nil, 0 end
  local first = first_live(log, max(now, log.newest) - size)
  local kept, back = {}, 0
  for index = log.length - 1, first, -1 do
    local time, units = time_at(log, index), units_from(log, index) - units_from(log, index + 1)
    local taken = 0
    if not spent_at or time == spent_until - size then taken = min(units, cost - back) end
    back = back + taken
    if units > taken then kept[#kept + 1] = { time, units - taken } end
  end
  if back == 0 then return nil, 0 end
  return { log = log, kept = kept }, back
end

-- The log of these entries, newest first, each a time and its units.
local function rewritten(log, kept)
  local fresh = { key = log.key, raw = '', newest = 0, total = 0, head = 0, length = 0, capacity = 0,
    blocked_until = log.blocked_until, time_bytes = log.time_bytes, unit_bytes = log.unit_bytes }
  local entries = {}
  for index = 1, #kept do
    local entry = kept[#kept + 1 - index]
    fresh.newest, fresh.length = entry[1], index
    entries[index] = struct.pack(log.entry, entry[1] % 256 ^ log.time_bytes, fresh.total % 256 ^ log.unit_bytes)
    fresh.total = fresh.total + entry[2]
  end
  rebuilt(fresh, table.concat(entries), log.time_bytes, log.unit_bytes)
  fresh.raw = spliced(fresh.raw, 0, header_of(fresh))
  return fresh
end

-- A log that holds nothing but the end of a block.
local function empty(key)
  return { key = key, raw = '', newest = 0, total = 0, head = 0, length = 0, capacity = 0, blocked_until = 0,
    time_bytes = 1, unit_bytes = 1, entry_bytes = 2, entry = entry_format(1, 1) }
end

return transition, penalize, refund, load, save, history, rewritten, empty, header_of
