-- A whole trace of attempts on one key in one call, through the same code as a real attempt.
--   KEYS[1]   the key
--   ARGV      for each attempt: now, algorithm, cost, and three arguments of the algorithm
-- Reply       one line for each attempt: remaining resetAfter, and what else there is to say (see decide-one.lua)
local lines = {}
for at = 1, #ARGV, 6 do
  local transition, _, _, load, save = require('algorithm')(ARGV[at + 1], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5])
  local now, expiry, set_option, expire_command = require('time')(ARGV[at])
  local check = { key = KEYS[1], cost = tonumber(ARGV[at + 2]), transition = transition, load = load, save = save }
  local told = require('attempt')(now, false, { check }, expiry, set_option, expire_command)
  lines[#lines + 1] = string.format('%d %d %d', unpack(told))
end
return table.concat(lines, '\n')
