-- One attempt under one policy, decided and spent atomically.
--   KEYS[1]   the state
--   ARGV      now in microseconds, or '' for the server's own clock; the arguments of the algorithm, unless they are in the script; the cost, 1 if
--             there is none
-- Reply       one string of whole numbers: now, remaining, resetAfter, and what else there is to say unless it is 0 (see block.lua)
local key, asked = KEYS[1], (cost or 1) + 0.0
-- What was read ahead of all functions, if it was.
local raw, stored, found, blocked_until = read(key, raw)
local wait = blocked_until - now
local remaining, retry, reset, delay, state, delta = transition(now, asked, raw, stored)
if wait > 0 then
  -- Nothing is spent, so what is told beside the wait is what a look sees.
  local _, _, look_reset = transition(now, 0, raw, stored)
  remaining, retry, reset, delay = refused(wait, retry, look_reset)
elseif state then
  write(key, found, state, delta, reset, grain)
end
local more = more_of(retry, delay)
if more == 0 then return format('%d %d %d', now, remaining, reset) end
return format('%d %d %d %d', now, remaining, reset, more)
