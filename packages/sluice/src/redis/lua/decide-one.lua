-- One attempt under one policy, decided and spent atomically. There is one such script for each algorithm.
--   KEYS[1]   the state
--   ARGV      [1] now in microseconds, or '' for the server's own clock; [2] '1' for a dry run, else ''
--             [3] algorithm, [4] cost, [5] [6] [7] arguments of the algorithm
-- Reply       as in decide.lua
local load, transition, save = require('ALGORITHM')
local read, expiry = require('time')

local key, now, dry_run, cost = KEYS[1], read(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[4])
local a, b, c = load(key)
local allowed, remaining, retry, reset, delay, next_a, next_b, next_c =
  transition(now, cost, ARGV[5], ARGV[6], ARGV[7], a, b, c)

if dry_run and allowed then
  local _
  _, remaining, _, reset = transition(now, 0, ARGV[5], ARGV[6], ARGV[7], a, b, c)
elseif next_a and not dry_run then
  local option, value = expiry(ARGV[1], now, reset)
  save(key, option, value, next_a, next_b, next_c)
end
if retry == math.huge then retry = -1 end
return string.format('%d %d %d %d %d %d', now, allowed and 1 or 0, remaining, retry, reset, delay)
