-- Sliding window log. Twin: sliding-window-log.ts and log.ts, which explain.
--   x   limit
--   y   window in microseconds
-- In Redis: a ring packed in a STRING. A header, then the entries, then the marks if there are any:
--   header  newest time, units admitted so far and the moment until which the key is blocked (doubles), head, length,
--           capacity (4 bytes each), bytes of the two below; HAS_MARKS is added to the first of them
--   entry   its time, modulo 256^time_bytes: it lies less than a window before the newest, so that is enough to know it;
--           units admitted before it, modulo 256^unit_bytes, which is more than the limit
--   marks   how many, then of each its time (a double) and its units (4 bytes), in the order of time
-- That is 5 bytes for a limit below 256 in a window below 71 minutes, 6 for a limit below 65536, 7 or 8 for longer or larger.
-- Only the header, the probed entries and the new entry move; a small log comes with its header.
-- Read and written piece by piece.
local READS_WHOLE = false
local HEADER, HEADER_BYTES = '<dddI4I4I4BB', 38
local READ_END, HAS_MARKS, MARK_BYTES = '255', 128, 12
local MOST_MARKS, MOST_REWRITTEN = 64, 1024
-- What lasts no longer is written whole, because PEXPIREAT drops a key at once when its last millisecond has begun.
local SOON = 100000

local function entry_format(log) return '<I' .. log.time_bytes .. 'I' .. log.unit_bytes end

local function offset_of(log, slot) return HEADER_BYTES + slot * log.entry_bytes end

-- Bytes of the log from one offset to before another, from what was read of it already if they are there.
local function piece(log, from, to)
  if to <= #log.raw then return string.sub(log.raw, from + 1, to) end
  return call('GETRANGE', log.key, format('%d', from), format('%d', to - 1))
end

local function load_marks(log)
  local at, marks = offset_of(log, log.capacity), {}
  local text = call('GETRANGE', log.key, format('%d', at), format('%d', at + MOST_MARKS * MARK_BYTES))
  for i = 1, string.byte(text) do
    local time, units = struct.unpack('<dI4', text, 2 + (i - 1) * MARK_BYTES)
    marks[i] = { time = time, units = units }
  end
  return marks
end

-- The state as transition takes it, nothing, whether it is there, and until when the key is blocked.
local function read(key)
  local raw = call('GETRANGE', key, '0', READ_END)
  if raw == '' then return nil, nil, false, 0 end
  local newest, total, blocked_until, head, length, capacity, time_bytes, unit_bytes = struct.unpack(HEADER, raw)
  local log = {
    key = key, raw = raw, newest = newest, total = total, blocked_until = blocked_until,
    head = head, length = length, capacity = capacity,
    time_bytes = time_bytes % HAS_MARKS, unit_bytes = unit_bytes, entry_bytes = time_bytes % HAS_MARKS + unit_bytes,
  }
  if time_bytes >= HAS_MARKS then log.marks = load_marks(log) end
  return log, nil, true, blocked_until
end

-- The two stored numbers of the entry at an index.
local function stored_at(log, index)
  local at = offset_of(log, (log.head + index) % log.capacity)
  if not log.entry then log.entry = entry_format(log) end
  if at + log.entry_bytes <= #log.raw then return struct.unpack(log.entry, log.raw, at + 1) end
  return struct.unpack(log.entry, piece(log, at, at + log.entry_bytes))
end

local function time_at(log, index)
  if index == log.length - 1 then return log.newest end
  local time = stored_at(log, index)
  return log.newest - (log.newest - time) % 256 ^ log.time_bytes
end

local function marked_from(log, time)
  local units = 0
  for _, mark in ipairs(log.marks) do
    if mark.time >= time then units = units + mark.units end
  end
  return units
end

local function units_from(log, index)
  if index >= log.length then return 0 end
  local _, before = stored_at(log, index)
  local units = (log.total - before) % 256 ^ log.unit_bytes
  if log.marks then units = units - marked_from(log, time_at(log, index)) end
  return units
end

local function first_where(from, length, holds)
  local low, step = from, 1
  while low + step - 1 < length and not holds(low + step - 1) do
    low = low + step
    step = step * 2
  end
  local high = math.min(length, low + step - 1)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if holds(middle) then high = middle else low = middle + 1 end
  end
  return low
end

local function first_live(log, moment)
  if log.length == 0 or time_at(log, 0) > moment then return 0 end
  return first_where(1, log.length, function(index) return time_at(log, index) > moment end)
end

local function first_within(log, from, units)
  return first_where(from, log.length, function(index) return units_from(log, index) <= units end)
end

local function gathered(log, now, cost)
  local used = units_from(log, first_live(log, log.newest - y))
  local room = math.max(0, x - used)
  local reset = used == 0 and 0 or y
  if cost == 0 then return room, 0, reset, 0 end
  local change = { log = log, drop = log.length, at = now, cost = used }
  if cost > room then return room, cost > x and math.huge or y, reset, 0, change end
  change.cost = used + cost
  return room - cost, 0, y, 0, change
end

local function transition(now, cost, log)
  if not log or log.length == 0 then
    if cost == 0 then return x, 0, 0, 0 end
    if cost > x then return x, math.huge, 0, 0 end
    return x - cost, 0, y, 0, { log = log, drop = 0, at = now, cost = cost }
  end
  if log.newest - now > y then return gathered(log, now, cost) end
  local at = math.max(now, log.newest)
  local first = first_live(log, at - y)
  local used = units_from(log, first)
  local room = math.max(0, x - used)
  if cost > 0 and cost <= room then
    return room - cost, 0, at + y - now, 0, { log = log, drop = first, at = at, cost = cost }
  end
  local reset = used == 0 and 0 or log.newest + y - now
  if cost == 0 then return room, 0, reset, 0 end
  if cost > x then return room, math.huge, reset, 0 end
  local leaving = first_within(log, first + 1, x - cost) - 1
  return room, time_at(log, leaving) + y - now, reset, 0
end

local function bytes_for(range)
  local bytes = 1
  while 256 ^ bytes < range do bytes = bytes + 1 end
  return bytes
end

local function header_of(log)
  local flag = log.marks and log.marks[1] and HAS_MARKS or 0
  return struct.pack(HEADER, log.newest, log.total, log.blocked_until, log.head, log.length, log.capacity,
    log.time_bytes + flag, log.unit_bytes)
end

local function marks_of(log)
  if not (log.marks and log.marks[1]) then return '' end
  local texts = { string.char(#log.marks) }
  for i, mark in ipairs(log.marks) do texts[i + 1] = struct.pack('<dI4', mark.time, mark.units) end
  return table.concat(texts)
end

-- The entries from the oldest on, unrolled, as they are stored.
local function entries_of(log)
  if log.length == 0 then return '' end
  local to = log.head + log.length
  local first = piece(log, offset_of(log, log.head), offset_of(log, math.min(to, log.capacity)))
  if to <= log.capacity then return first end
  return first .. piece(log, offset_of(log, 0), offset_of(log, to - log.capacity))
end

-- A limit or a window has outgrown the entries: write them all anew, wider. Happens when a policy is changed, not in a check.
local function widened(log, time_bytes, unit_bytes)
  local wider, texts = '<I' .. time_bytes .. 'I' .. unit_bytes, {}
  for index = 0, log.length - 1 do
    local _, before = stored_at(log, index)
    local units = (log.total - before) % 256 ^ log.unit_bytes
    texts[index + 1] = struct.pack(wider, time_at(log, index) % 256 ^ time_bytes, (log.total - units) % 256 ^ unit_bytes)
  end
  return table.concat(texts)
end

-- An eighth more, so that a log is never much larger than what it holds, and never larger than the limit needs.
local function rebuild(log, entries, time_bytes, unit_bytes)
  log.time_bytes, log.unit_bytes, log.entry_bytes = time_bytes, unit_bytes, time_bytes + unit_bytes
  log.entry, log.head = nil, 0
  log.capacity = math.max(log.length + 1, math.min(x, log.length + math.ceil(log.length / 8) + 3))
  log.raw = string.rep('\0', HEADER_BYTES) .. entries .. string.rep('\0', (log.capacity - log.length) * log.entry_bytes)
  log.whole = true
end

-- Makes room for one more entry of the needed widths at the end of the ring.
local function make_room(log, units)
  local time_bytes = math.max(log.time_bytes, bytes_for(y))
  local unit_bytes = math.max(log.unit_bytes, bytes_for(math.max(x, units) + 1))
  if time_bytes > log.time_bytes or unit_bytes > log.unit_bytes then
    rebuild(log, widened(log, time_bytes, unit_bytes), time_bytes, unit_bytes)
  elseif log.length == log.capacity then
    rebuild(log, entries_of(log), time_bytes, unit_bytes)
  end
end

local function spliced(raw, at, text)
  return string.sub(raw, 1, at) .. text .. string.sub(raw, at + #text + 1)
end

-- An empty log, with what has to stay of another.
local function empty(key, log)
  return { key = key, raw = '', newest = 0, total = log and log.total or 0, head = 0, length = 0, capacity = 0,
    blocked_until = log and log.blocked_until or 0, time_bytes = 1, unit_bytes = 1, entry_bytes = 2 }
end

-- Writes the log: a piece at an offset, its marks if they have changed, its header. `lasts` microseconds.
local function save(key, log, at, text, marks_changed, lasts)
  local marks = marks_changed and marks_of(log) or ''
  if log.whole or lasts <= SOON then
    local raw = log.whole and log.raw or call('GET', key)
    local ring_end = offset_of(log, log.capacity)
    if log.whole or marks_changed then raw = string.sub(raw, 1, ring_end) .. marks_of(log) end
    call('SET', key, spliced(spliced(raw, at, text), 0, header_of(log)), set_option, expiry(lasts))
    return
  end
  if text ~= '' then call('SETRANGE', key, format('%d', at), text) end
  if marks ~= '' then call('SETRANGE', key, format('%d', offset_of(log, log.capacity)), marks) end
  call('SETRANGE', key, '0', header_of(log))
  call(expire_command, key, expiry(lasts))
end

-- Forgets the marks of entries that are gone.
local function drop_marks(log)
  if not log.marks then return false end
  local kept, oldest = {}, log.length > 0 and time_at(log, 0) or math.huge
  for _, mark in ipairs(log.marks) do
    if mark.time >= oldest then kept[#kept + 1] = mark end
  end
  local changed = #kept < #log.marks
  log.marks = kept[1] and kept or nil
  return changed
end

local function append(key, change, lasts)
  local log, marks_changed = change.log, false
  if not log or change.drop == log.length then log = empty(key, log)
  else
    log.head, log.length = (log.head + change.drop) % log.capacity, log.length - change.drop
    if change.drop > 0 then marks_changed = drop_marks(log) end
  end
  make_room(log, units_from(log, 0) + (log.marks and marked_from(log, 0) or 0) + change.cost)
  local text, at = '', HEADER_BYTES
  if log.length == 0 or log.newest ~= change.at then
    at = offset_of(log, (log.head + log.length) % log.capacity)
    text = struct.pack(entry_format(log), change.at % 256 ^ log.time_bytes, log.total % 256 ^ log.unit_bytes)
    log.newest, log.length = change.at, log.length + 1
  end
  log.total = log.total + change.cost
  save(key, log, at, text, marks_changed, lasts)
end

-- Carries out what a transition has said.
local function write(key, _, change, _, reset) append(key, change, reset) end

-- The change to carry out, if any, and by how many units.
local function penalize(now, cost, log)
  local room = transition(now, 0, log)
  local spent = math.min(cost, room)
  if spent == 0 then return nil, 0 end
  local _, _, _, _, change = transition(now, spent, log)
  return change, spent
end

-- The entry of this very time, or nothing.
local function index_at(log, time, first)
  local index = first_where(first, log.length, function(at) return time_at(log, at) >= time end)
  if index < log.length and time_at(log, index) == time then return index end
end

-- The mark with the fewest entries to the next one, or to the end.
local function closest(log)
  local best, from, gap = nil, 0, math.huge
  for i, mark in ipairs(log.marks) do
    local index = index_at(log, mark.time, 0)
    local to = log.marks[i + 1] and index_at(log, log.marks[i + 1].time, index) or log.length - 1
    if to - index < gap then best, from, gap = i, index, to - index end
  end
  return best, from, gap
end

-- Marks of entries that have left are forgotten.
local function live_marks(log, moment)
  local live = {}
  for _, mark in ipairs(log.marks or live) do
    if mark.time > moment then live[#live + 1] = mark end
  end
  return live
end

local function take_newest(log, first, cost)
  local back = math.min(cost, units_from(log, first))
  if back == 0 then return nil, 0 end
  local kept = first_within(log, first, back)
  return { log = log, length = kept, units = back - units_from(log, kept) }, back
end

local function can_mark(log, time, moment)
  for _, other in ipairs(log.marks or {}) do if other.time == time then return true end end
  local live = live_marks(log, moment)
  if #live < MOST_MARKS then return true end
  local all = log.marks
  log.marks = live
  local _, _, gap = closest(log)
  log.marks = all
  return gap <= MOST_REWRITTEN
end

-- Out of the entry that was admitted then, or out of the newest ones.
local function refund(now, cost, log, _, spent_at, spent_until)
  if not log or log.length == 0 or log.newest - now > y then return nil, 0 end
  local moment = math.max(now, log.newest) - y
  local first = first_live(log, moment)
  if not spent_at then return take_newest(log, first, cost) end
  local index = index_at(log, spent_until - y, first)
  if not index then return nil, 0 end
  local there = units_from(log, index) - units_from(log, index + 1)
  local back, is_last = math.min(cost, there), index == log.length - 1
  if back == 0 then return nil, 0 end
  if is_last and back == there then return { log = log, length = index, units = 0 }, back end
  if is_last then return { log = log, length = log.length, units = back }, back end
  local time = time_at(log, index)
  if not can_mark(log, time, moment) then return nil, 0 end
  return { log = log, time = time, units = back, moment = moment }, back
end

-- Keeps the first entries, and says how many units there were before the first that goes.
local function shorten(log, length)
  local time = time_at(log, length)
  local _, before = stored_at(log, length)
  log.total = log.total - (log.total - before) % 256 ^ log.unit_bytes
  log.newest = length > 0 and time_at(log, length - 1) or 0
  log.length = length
  while log.marks and log.marks[1] and log.marks[#log.marks].time >= time do log.marks[#log.marks] = nil end
end

local function truncate(key, change)
  local log, had_marks = change.log, change.log.marks ~= nil
  if change.length < log.length then shorten(log, change.length) end
  log.total = log.total - change.units
  while log.length > 0 and units_from(log, log.length - 1) == 0 do shorten(log, log.length - 1) end
  local lasts = math.max(log.length > 0 and log.newest + y - now or 0, log.blocked_until - now)
  if lasts <= 0 then call('DEL', key) else save(key, log, HEADER_BYTES, '', had_marks, lasts) end
end

-- Makes a mark part of the next one, or of the total: the entries between them are written as if the units had never been.
local function fold(log)
  local i, from, gap = closest(log)
  local units, pack = log.marks[i].units, entry_format(log)
  for index = from + 1, from + gap do
    local time, before = stored_at(log, index)
    local at = offset_of(log, (log.head + index) % log.capacity)
    local text = struct.pack(pack, time, (before - units) % 256 ^ log.unit_bytes)
    call('SETRANGE', log.key, format('%d', at), text)
    if at + #text <= #log.raw then log.raw = spliced(log.raw, at, text) end
  end
  if log.marks[i + 1] then log.marks[i + 1].units = log.marks[i + 1].units + units else log.total = log.total - units end
  table.remove(log.marks, i)
end

local function mark(key, change)
  local log = change.log
  local known
  for _, other in ipairs(log.marks or {}) do if other.time == change.time then known = other end end
  if known then known.units = known.units + change.units
  else
    log.marks = live_marks(log, change.moment)
    if #log.marks >= MOST_MARKS then fold(log) end
    local place = 1
    while log.marks[place] and log.marks[place].time < change.time do place = place + 1 end
    table.insert(log.marks, place, { time = change.time, units = change.units })
  end
  save(key, log, HEADER_BYTES, '', true, math.max(log.newest + y - now, log.blocked_until - now))
end

-- Carries out what a penalty or a refund has said.
local function replace(key, _, _, change)
  if change.length then truncate(key, change)
  elseif change.time then mark(key, change)
  else append(key, change, math.max(change.at + y - now, change.log and change.log.blocked_until - now or 0)) end
end

-- Blocks the key, or ends its block. What was spent is kept for as long as it would have been, and no less than the block.
local function seal(key, log, _, blocked_until)
  if not log and blocked_until <= now then return end
  local left = log and call('PTTL', key) * 1000 or 0
  log = log or empty(key)
  log.blocked_until = blocked_until
  if log.length == 0 and blocked_until <= now then return call('DEL', key) end
  call('SETRANGE', key, '0', header_of(log))
  call(expire_command, key, expiry(math.max(left, blocked_until - now)))
end

-- The live entries after a time, oldest first: { time, units, time, units, ... }.
local function entries(log, after, most)
  local listed = {}
  if not log or log.length == 0 then return listed end
  local from = first_live(log, math.max(after, math.max(now, log.newest) - y))
  local units = units_from(log, from)
  for index = from, log.length - 1 do
    if #listed >= most * 2 then break end
    local later = units_from(log, index + 1)
    if units > later then
      listed[#listed + 1] = time_at(log, index)
      listed[#listed + 1] = units - later
    end
    units = later
  end
  return listed
end
