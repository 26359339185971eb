-- One attempt, decided and spent atomically.
--   KEYS   one for each check
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] '1' for a dry run, else ''
--          then five for each check: algorithm, cost, and three arguments of the algorithm
-- Reply    one string: now, then for each check allowed, remaining, retryAfter (-1 never), resetAfter, delay, each after a
--          space. All are whole numbers, microseconds but for the first two.
local attempt = require('attempt')
local time = require('time')

local now, expiry = time(ARGV[1])
local checks = {}
for i = 1, #KEYS do
  local at = i * 5 - 2
  checks[i] = { KEYS[i], ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3], ARGV[at + 4] }
end
local reply = attempt(now, checks, ARGV[2] == '1', expiry)
for i = 1, #reply do reply[i] = string.format('%d', reply[i]) end
return string.format('%d ', now) .. table.concat(reply, ' ')
