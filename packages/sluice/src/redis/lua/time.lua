-- One reading of one clock for an attempt, and how long to keep what it writes. Takes now in microseconds, or '' for the
-- server's own clock.
-- With the server's clock a key expires in the millisecond in which its resetAfter ends: Redis drops a key only when that
-- millisecond is over, so it is never forgotten early, and PTTL never shows more than resetAfter rounded up. A supplied clock
-- (tests, simulations) does not run with the server's, so there keys are kept for a day on top.
local supplied = ...
local call, format = redis.call, string.format
local DAY = 86400000
local now, set_option, expire_command
if supplied == '' then
  local time = call('TIME')
  now, set_option, expire_command = time[1] * 1000000 + time[2], 'PXAT', 'PEXPIREAT'
else
  now, set_option, expire_command = supplied + 0, 'PX', 'PEXPIRE'
end

-- The value for the option of SET and for the command; %d cuts off what is beyond a whole millisecond.
local function expiry(reset)
  local ends = (now + reset) / 1000
  if reset < 1000 then ends = (now + 1000) / 1000 end
  if supplied ~= '' then ends = math.ceil(reset / 1000) + DAY end
  return format('%d', ends)
end

return now, expiry, set_option, expire_command
