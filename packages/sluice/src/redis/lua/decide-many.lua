-- Many attempts under one policy, each decided and spent by itself, in order. There is one such script for each algorithm.
--   KEYS   one for each attempt; attempts on the same key stand together, and share one read and one write
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] [3] [4] arguments of the algorithm; then the costs, or
--          nothing when all of them are 1
-- Reply    whole numbers: now, then remaining and resetAfter of each attempt, then what else there is to say of each (see
--          decide-one.lua), or nothing when that is 0 for all. When an attempt fails: lines, namely now, then for each attempt
--          its three numbers, or '!' and an error, which is that attempt's alone.
local call, format = redis.call, string.format
local huge = math.huge
local transition = require('ALGORITHM')(ARGV[2] + 0, ARGV[3] + 0, ARGV[4])
local now, expiry, set_option, expire_command = require('time')(ARGV[1])
local keep = require('keep')(expiry, set_option, expire_command)
local PREFIX, opened, refuse, DIGITS = require('block')()

local attempts, first, has_more, failures = #KEYS, 1, false, nil
local numbers, more = { now }, {}
local raws = call('MGET', unpack(KEYS))

-- Decides all attempts from `first` on, key by key. An error ends it at the key that it is about.
local function decide()
  local keys, costs, at, asked = KEYS, ARGV[5] and ARGV, first, 1
  while at <= attempts do
    first = at
    local key, raw = keys[at], raws[at]
    local found, wait, stored = raw and true, 0, nil
    if raw and #raw < DIGITS then stored = raw + 0
    elseif raw and #raw >= PREFIX then
      local blocked_until
      found = nil
      blocked_until, raw, stored = opened(raw)
      wait = blocked_until - now
    end
    local kept, added, kept_reset
    while true do
      if costs then asked = costs[at + 4] + 0 end
      -- Of a blocked key what a look sees, because nothing is spent, and when the cost would fit.
      local cost = asked
      if wait > 0 then cost = 0 end
      local remaining, retry, reset, delay, state, delta = transition(now, cost, raw, stored)
      if wait > 0 then
        local _, asked_retry = transition(now, asked, raw, stored)
        remaining, retry, reset, delay = refuse(wait, asked_retry, reset)
      elseif state then
        kept, kept_reset = state, reset
        if not delta then found = found and nil
        elseif added and delta ~= true then added = added + delta
        else added = delta end
      end
      numbers[at * 2], numbers[at * 2 + 1] = remaining, reset
      if delay > 0 then retry = -1 - delay elseif retry == huge then retry = -1 end
      if retry ~= 0 then has_more = true end
      more[at] = retry
      at = at + 1
      if keys[at] ~= key then break end
      if state then raw, stored = state, type(state) == 'number' and state or nil end
    end
    if kept then
      keep(key, found, kept, added, kept_reset)
    end
  end
  first = at
end

while first <= attempts do
  local done, failure = pcall(decide)
  if not done then
    failures = failures or {}
    repeat
      failures[first] = '!' .. (type(failure) == 'table' and failure.err or tostring(failure))
      first = first + 1
    until KEYS[first] ~= KEYS[first - 1]
  end
end

return require('reply')(numbers, more, has_more, failures)
