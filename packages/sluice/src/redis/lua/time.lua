-- One reading of one clock for everything a script decides, and how long to keep what it writes. ARGV[1] is now in microseconds, or '' for
-- the server's own clock.
-- With the server's clock a key expires in the millisecond in which its resetAfter ends: Redis drops a key only when that millisecond is
-- over, so it is never forgotten early, and PTTL never shows more than resetAfter rounded up. A supplied clock (tests, simulations) does
-- not run with the server's, so there keys are kept for a day on top.
local call, format = redis.call, string.format
local unpack = table.unpack or unpack
local DAY = 86400000
local supplied = ARGV[1]
local now, set_option, expire_command
if supplied == '' then
  local time = call('TIME')
  now, set_option, expire_command = time[1] * 1000000.0 + time[2], 'PXAT', 'PEXPIREAT'
else
  now, set_option, expire_command = supplied + 0.0, 'PX', 'PEXPIRE'
end

-- The value for the option of SET and for the command, in whole milliseconds.
local function expiry(reset)
  if supplied ~= '' then return format('%d', math.ceil(reset / 1000) + DAY) end
  local ends = now + (reset < 1000 and 1000 or reset)
  return format('%d', (ends - ends % 1000) / 1000)
end
