-- One attempt under one policy, decided and spent atomically. There is one such script for each algorithm.
--   KEYS[1]   the state
--   ARGV      [1] now in microseconds, or '' for the server's own clock; [2] [3] [4] arguments of the algorithm; [5] the cost, 1 if
--             there is none
-- Reply       one string of whole numbers: now, remaining, resetAfter, and what else there is to say, if anything: a retryAfter when
--             denied, -1 when it never can be allowed, below that allowed with a delay of (-1 - this). Microseconds.
local call, format = redis.call, string.format
local transition = require('ALGORITHM')(ARGV[2] + 0, ARGV[3] + 0, ARGV[4])
local now, expiry, set_option, expire_command = require('time')(ARGV[1])
local keep = require('keep')(expiry, set_option, expire_command)
local PREFIX, opened, refuse, DIGITS = require('block')()

local key, asked = KEYS[1], (ARGV[5] or 1) + 0
local raw = call('GET', key)
local found, wait, stored = raw and true, 0, nil
if raw and #raw < DIGITS then stored = raw + 0
elseif raw and #raw >= PREFIX then
  local blocked_until
  found = nil
  blocked_until, raw, stored = opened(raw)
  wait = blocked_until - now
end
-- Of a blocked key what a look sees, because nothing is spent, and when the cost would fit.
local cost = wait > 0 and 0 or asked
local remaining, retry, reset, delay, state, delta = transition(now, cost, raw, stored)
if wait > 0 then
  local _, asked_retry = transition(now, asked, raw, stored)
  remaining, retry, reset, delay = refuse(wait, asked_retry, reset)
elseif state then
  keep(key, found, state, delta, reset)
end

if delay > 0 then retry = -1 - delay elseif retry == math.huge then retry = -1 end
if retry == 0 then return format('%d %d %d', now, remaining, reset) end
return format('%d %d %d %d', now, remaining, reset, retry)
