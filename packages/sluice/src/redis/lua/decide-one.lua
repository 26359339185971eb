-- One attempt under one policy, decided and spent atomically. There is one such script for each algorithm.
--   KEYS[1]   the state
--   ARGV      [1] now in microseconds, or '' for the server's own clock; [2] [3] [4] arguments of the algorithm; [5] the cost, 1 if
--             there is none
-- Reply       one string of whole numbers: now, remaining, resetAfter, and what else there is to say: 0 allowed, a retryAfter when
--             denied, -1 when it never can be, below that allowed with a delay of (-1 - this). Microseconds.
local transition = require('ALGORITHM')(tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4])
local now, expiry, set_option, expire_command = require('time')(ARGV[1])
local keep = require('keep')(expiry, set_option, expire_command)
local PREFIX, opened, refuse = require('block')()

local key, cost = KEYS[1], tonumber(ARGV[5] or 1)
local raw = redis.call('GET', key)
local found, blocked_until = raw and true, 0
if raw and #raw >= PREFIX then
  found = nil
  blocked_until, raw = opened(raw)
end
local remaining, retry, reset, delay, state, delta, asked_retry
local wait = blocked_until - now
-- Of a blocked key twice: when the cost would fit, and what a look sees, because nothing is spent.
for pass = 1, wait > 0 and 2 or 1 do
  local price = pass == 1 and cost or 0
  remaining, retry, reset, delay, state, delta = transition(now, price, raw)
  if pass == 1 then asked_retry = retry end
end
if wait > 0 then
  remaining, retry, reset, delay = refuse(wait, asked_retry, reset)
elseif state then
  keep(key, found, state, delta, reset)
end

if delay > 0 then retry = -1 - delay elseif retry == math.huge then retry = -1 end
return string.format('%d %d %d %d', now, remaining, reset, retry)
