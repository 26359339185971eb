-- One reading of one clock for an attempt, and how long to keep what it writes.
-- With the server's clock a key expires in the millisecond in which its resetAfter ends: Redis drops a key only when that
-- millisecond is over, so it is never forgotten early, and PTTL never shows more than resetAfter rounded up. A supplied clock
-- (tests, simulations) does not run with the server's, so there keys are kept for a day on top.
local DAY = 86400000

local function read(supplied)
  if supplied ~= '' then return tonumber(supplied) end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- The option and its value for SET.
local function expiry(supplied, now, reset)
  if supplied ~= '' then return 'PX', string.format('%d', math.ceil(reset / 1000) + DAY) end
  return 'PXAT', string.format('%d', math.max(math.floor((now + reset) / 1000), math.floor(now / 1000) + 1))
end

return read, expiry
