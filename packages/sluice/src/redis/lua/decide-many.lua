-- Many attempts under one policy, each decided and spent by itself, in order. There is one such script for each algorithm.
--   KEYS   one for each attempt; attempts on the same key stand together, and share one read and one write
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] [3] [4] arguments of the algorithm; then the costs, or
--          nothing when all of them are 1
-- Reply    whole numbers: now, then remaining and resetAfter of each attempt, then what else there is to say of each (see
--          decide-one.lua), or nothing when that is 0 for all. When an attempt fails: lines, namely now, then for each attempt
--          its three numbers, or '!' and an error, which is that attempt's alone.
local call, format, tonumber, huge = redis.call, string.format, tonumber, math.huge
local transition = require('ALGORITHM')(tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4])
local now, expiry, set_option, expire_command = require('time')(ARGV[1])
local keep = require('keep')(expiry, set_option, expire_command)
local PREFIX, opened, refuse = require('block')()

local attempts, first, has_more, failures = #KEYS, 1, false, nil
local numbers, more = { now }, {}
local raws = call('MGET', unpack(KEYS))

-- Decides all attempts from `first` on, key by key. An error ends it at the key that it is about.
local function decide()
  local keys, costs, raws, numbers, more, at, cost = KEYS, ARGV[5] and ARGV, raws, numbers, more, first, 1
  while at <= attempts do
    first = at
    local key, raw = keys[at], raws[at]
    local found, blocked_until = raw and true, 0
    if raw and #raw >= PREFIX then
      found = nil
      blocked_until, raw = opened(raw)
    end
    local state, added, kept_reset
    local wait = blocked_until - now
    repeat
      if costs then cost = tonumber(costs[at + 4]) end
      local remaining, retry, reset, delay, next_state, delta, asked_retry
      -- Of a blocked key twice: when the cost would fit, and what a look sees, because nothing is spent.
      for pass = 1, wait > 0 and 2 or 1 do
        local price = pass == 1 and cost or 0
        remaining, retry, reset, delay, next_state, delta = transition(now, price, raw)
        if pass == 1 then asked_retry = retry end
      end
      if wait > 0 then
        remaining, retry, reset, delay = refuse(wait, asked_retry, reset)
      elseif next_state then
        raw, state, kept_reset = next_state, next_state, reset
        if not delta then found = found and nil
        elseif added and delta ~= true then added = added + delta
        else added = delta end
      end
      numbers[at * 2], numbers[at * 2 + 1] = remaining, reset
      if delay > 0 then retry = -1 - delay elseif retry == huge then retry = -1 end
      if retry ~= 0 then has_more = true end
      more[at] = retry
      at = at + 1
    until keys[at] ~= key
    if state then
      keep(key, found, state, added, kept_reset)
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
