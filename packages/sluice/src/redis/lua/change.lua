-- Changes that are no attempts: they are always carried out, all of them atomically.
--   KEYS   one for each change
--   ARGV   [1] now in microseconds, or '' for the server's own clock; then for each change nine: verb; algorithm and three
--          arguments of it; cost, or for a block how long in microseconds; for a refund when it was spent and until when that
--          would have been remembered, and its cost, or ''
-- Reply    lines: now, then for each change what a look sees afterwards, as in decide-one.lua, and by how many units the state changed
local now, expiry, set_option, expire_command = require('time')(ARGV[1])
local PREFIX, opened, refuse, DIGITS = require('block')()
local longest = math.max

local function changed_by(verb, penalize, refund, amount, raw, stored, at)
  if verb == 'penalize' then return penalize(now, amount, raw, stored) end
  if verb == 'refund' then
    return refund(now, amount, raw, stored, tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7]), tonumber(ARGV[at + 8]))
  end
  return nil, 0
end

local function ends_at(verb, amount, blocked_until)
  if verb == 'block' then return now + amount end
  return verb == 'unblock' and 0 or blocked_until
end

-- A state that is a STRING, or a number for one of digits.
local function change_string(key, verb, transition, penalize, refund, amount, at)
  local raw, blocked_until, stored = redis.call('GET', key), 0, nil
  if raw and #raw < DIGITS then stored = raw + 0
  elseif raw and #raw >= PREFIX then blocked_until, raw, stored = opened(raw) end
  local state, units = changed_by(verb, penalize, refund, amount, raw, stored, at)
  local stays = not state and (verb == 'penalize' or verb == 'refund')
  blocked_until = ends_at(verb, amount, blocked_until)
  if state then raw, stored = state, type(state) == 'number' and state or nil end
  local remaining, retry, reset, delay = transition(now, 0, raw, stored)
  if stays then return remaining, retry, reset, delay, blocked_until, units end
  -- A state that means nothing any more is not kept behind a block either.
  local text = reset > 0 and (stored or raw) or ''
  if type(text) == 'number' then text = string.format('%d', text) end
  if blocked_until > now then
    local prefix = 'b' .. struct.pack('<d', blocked_until) .. string.rep('\0', PREFIX - 9)
    redis.call('SET', key, prefix .. text, set_option, expiry(longest(reset, blocked_until - now)))
  elseif reset > 0 then redis.call('SET', key, text, set_option, expiry(reset))
  else redis.call('DEL', key) end
  return remaining, retry, reset, delay, blocked_until, units
end

local function change_log(key, verb, log_of, amount, at)
  local transition, penalize, refund, load, save, _, rewritten, empty, header_of = log_of()
  local log = load(key)
  local blocked_until = ends_at(verb, amount, log and log.blocked_until or 0)
  local change, units = changed_by(verb, penalize, refund, amount, log, nil, at)
  local _, _, old_reset = transition(now, 0, log)
  if change and change.kept then
    local fresh = rewritten(log, change.kept)
    local _, _, reset = transition(now, 0, fresh)
    local lasts = longest(reset, blocked_until - now)
    if lasts > 0 then redis.call('SET', key, fresh.raw, set_option, expiry(lasts)) else redis.call('DEL', key) end
  elseif change then
    local reset = change.at + tonumber(ARGV[at + 3]) - now
    save(key, change, expiry(longest(reset, blocked_until - now)), set_option, expire_command)
  elseif verb == 'block' or (verb == 'unblock' and log) then
    log = log or empty(key)
    log.blocked_until = blocked_until
    local lasts = longest(old_reset, blocked_until - now)
    if lasts > 0 then
      redis.call('SETRANGE', key, '0', header_of(log))
      redis.call(expire_command, key, expiry(lasts))
    else redis.call('DEL', key) end
  end
  local remaining, retry, reset, delay = transition(now, 0, load(key))
  return remaining, retry, reset, delay, blocked_until, units
end

local lines = { string.format('%d', now) }
for i = 1, #KEYS do
  local at = i * 9 - 7
  local verb, code, amount = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 5])
  local function chosen() return require('algorithm')(code, ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]) end
  local remaining, retry, reset, delay, blocked_until, units
  if code == 'l' then
    remaining, retry, reset, delay, blocked_until, units = change_log(KEYS[i], verb, chosen, amount, at)
  else
    local transition, penalize, refund = chosen()
    remaining, retry, reset, delay, blocked_until, units =
      change_string(KEYS[i], verb, transition, penalize, refund, amount, at)
  end
  if blocked_until > now then remaining, retry, reset, delay = refuse(blocked_until - now, retry, reset) end
  if delay > 0 then retry = -1 - delay end
  lines[i + 1] = string.format('%d %d %d %.17g', remaining, reset, retry, units)
end
return table.concat(lines, '\n')
