-- Attempts under one sliding window log, each decided and spent by itself, in order: one of them, or many.
--   KEYS, ARGV, reply   as in decide-many.lua; ARGV[4] is the format of the entries that suits limit and window
-- A log's change is not a state to go on from, so every attempt reads and writes. Almost every attempt is plain: time goes on, the
-- entries are wide enough, the ring has room. That is decided right here, in local variables; whatever else there is, by the algorithm's
-- own file (sliding-window-log.lua, which explains the entries), and what it needs is made only then.
local call, format = redis.call, string.format
local pack, unpack_struct = struct.pack, struct.unpack
local limit, size = ARGV[2] + 0, ARGV[3] + 0
local now, expiry, set_option, expire_command = require('time')(ARGV[1])
local HEADER, HEADER_BYTES = '<dddI4I4I4BB', 38
local entry = ARGV[4]
local own_time_bytes, _, own_unit_bytes = string.byte(entry, 3, 5)
-- What lasts no longer is written whole, see sliding-window-log.lua.
local SOON = 100000

local numbers, more, has_more, failures = { now }, {}, false, nil
local kept_until
local transition, load, save

local function any(key, cost, raw)
  if not transition then
    local _
    transition, _, _, load, save = require('sliding-window-log/sliding-window-log')(limit, size)
  end
  local log = load(key, raw)
  local remaining, retry, reset, _, change = transition(now, cost, log)
  if log and log.blocked_until > now then
    local _, _, look_reset = transition(now, 0, log)
    local _, _, refuse = require('block')()
    remaining, retry, reset = refuse(log.blocked_until - now, retry, look_reset)
  elseif change then save(key, change, expiry(reset), set_option, expire_command) end
  return remaining, retry, reset
end

-- What `any` returns, or nothing when it is not plain.
local function plain(key, cost, raw)
  if raw == '' or size <= SOON or cost == 0 then return end
  local newest, total, blocked_until, head, length, capacity, time_bytes, unit_bytes = unpack_struct(HEADER, raw)
  local moment = now - size
  if blocked_until > now or newest > now or newest <= moment then return end
  if time_bytes + 48 ~= own_time_bytes or unit_bytes + 48 ~= own_unit_bytes then return end

  -- The first entry that still counts: most often the oldest, or the one after it.
  local times, units, bytes = 256 ^ time_bytes, 256 ^ unit_bytes, time_bytes + unit_bytes
  local first, oldest, before = -1, nil, nil
  repeat
    first = first + 1
    if first == length or first == 4 then return end
    local at = HEADER_BYTES + ((head + first) % capacity) * bytes
    if at + bytes <= #raw then oldest, before = unpack_struct(entry, raw, at + 1)
    else oldest, before = unpack_struct(entry, call('GETRANGE', key, format('%d', at), format('%d', at + bytes - 1))) end
    oldest = newest - (newest - oldest) % times
  until oldest > moment

  local used = (total - before) % units
  if used + cost > limit then
    -- With the oldest entry at least one unit leaves.
    if cost ~= 1 or used ~= limit then return end
    return 0, oldest + size - now, newest + size - now
  end
  length = length - first
  if length == capacity then return end
  head = (head + first) % capacity
  if newest < now then
    local at = HEADER_BYTES + ((head + length) % capacity) * bytes
    call('SETRANGE', key, format('%d', at), pack(entry, now % times, total % units))
    length = length + 1
  end
  call('SETRANGE', key, '0', pack(HEADER, now, total + cost, blocked_until, head, length, capacity, time_bytes, unit_bytes))
  if not kept_until then kept_until = expiry(size) end
  call(expire_command, key, kept_until)
  return limit - used - cost, 0, size
end

local function decide(at)
  local key, cost = KEYS[at], (ARGV[at + 4] or 1) + 0
  local raw = call('GETRANGE', key, '0', '255')
  local remaining, retry, reset = plain(key, cost, raw)
  if not remaining then remaining, retry, reset = any(key, cost, raw) end
  if retry == math.huge then retry = -1 end
  numbers[at * 2], numbers[at * 2 + 1], more[at] = remaining, reset, retry
  if retry ~= 0 then has_more = true end
end

for at = 1, #KEYS do
  local done, failure = pcall(decide, at)
  if not done then
    failures = failures or {}
    failures[at] = '!' .. (type(failure) == 'table' and failure.err or tostring(failure))
  end
end
return require('reply')(numbers, more, has_more, failures)
