-- How long to keep what a script writes.
-- With the server's clock a key expires in the millisecond in which its resetAfter ends: Redis drops a key only when that millisecond is
-- over, so it is never forgotten early. An algorithm whose end moves with every attempt may have a `grain`: then a key is kept until the next
-- multiple of that, so that most attempts leave its expiry alone (`lasts` in lone-read.lua). For limits of 32 and more it is the time of four units, or an
-- eighth of a window, so nothing is kept for more than an eighth longer. Those who share a state without a name have the same grain: a lease takes no
-- more than a tenth of a limit, so from 64 on all of them have one. A supplied clock (tests, simulations) does not run with the server's, so there keys are kept for a day on top.
local unpack = table.unpack or unpack
local DAY = 86400000
local grain = 0
local set_option, expire_command = 'PXAT', 'PEXPIREAT'
if supplied ~= '' then set_option, expire_command = 'PX', 'PEXPIRE' end

-- The microsecond at which a state that lasts so long may be forgotten.
local function kept_until(reset, grain)
  local ends = now + (reset < 1000 and 1000 or reset)
  if grain and grain >= 1000 then ends = ends - ends % grain + grain end
  return ends
end

-- The value for the option of SET and for the command, in whole milliseconds.
local function expiry(reset, grain)
  if supplied ~= '' then return format('%d', math.ceil(reset / 1000) + DAY) end
  local ends = kept_until(reset, grain)
  return format('%d', (ends - ends % 1000) / 1000)
end
