-- A whole trace of attempts on one key in one call, through the same functions as a real attempt.
--   KEYS[1]   the key
--   ARGV      for each attempt: now, which of the MODULES, cost, and three arguments of the algorithm
-- Reply       one line for each attempt: remaining, resetAfter, and what else there is to say (see block.lua)
local lines = {}
for at = 1, #ARGV, 6 do
  now = ARGV[at] + 0.0
  local rule = MODULES[tonumber(ARGV[at + 1])](ARGV[at + 3] + 0.0, ARGV[at + 4] + 0.0, ARGV[at + 5])
  local raw, stored, found = rule.read(KEYS[1])
  local remaining, retry, reset, delay, state, delta = rule.transition(now, tonumber(ARGV[at + 2]), raw, stored)
  if state then rule.write(KEYS[1], found, state, delta, reset) end
  lines[#lines + 1] = string.format('%d %d %d', remaining, reset, more_of(retry, delay))
end
return table.concat(lines, '\n')
