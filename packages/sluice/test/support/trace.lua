-- A whole trace of attempts on one key in one call, through the same code as a real attempt.
--   KEYS[1]   the key
--   ARGV      for each attempt: now, algorithm, cost, and three arguments of the algorithm
-- Reply       one line for each attempt: allowed remaining retryAfter resetAfter delay
local attempt = require('attempt')
local function expiry(_, _, reset) return 'PX', string.format('%d', math.ceil(reset / 1000) + 3600000) end
local lines = {}
for at = 1, #ARGV, 6 do lines[#lines + 1] = attempt(KEYS, ARGV, at + 1, tonumber(ARGV[at]), false, expiry) end
return table.concat(lines, '\n')
