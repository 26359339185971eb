-- Attempts under several policies, each all or nothing, decided and spent atomically, in order.
--   KEYS   for each attempt, one for each policy
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] '1' for a dry run, else ''; [3] how many policies;
--          four for each policy: algorithm, three arguments of it; then the costs, as KEYS
-- Reply    lines: now, then one for each attempt: for each policy the three numbers of decide-one.lua; or '!' and an error,
--          which is that attempt's alone
local now, expiry, set_option, expire_command = require('time')(ARGV[1])
local dry_run, policies = ARGV[2] == '1', tonumber(ARGV[3])
local first_cost = 4 + policies * 4

local checks = {}
for i = 1, policies do
  local at = i * 4
  local transition, _, _, load, save = require('algorithm')(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  checks[i] = { transition = transition, load = load, save = save }
end

local function decide(from)
  for i, check in ipairs(checks) do
    check.key, check.cost = KEYS[from + i], tonumber(ARGV[first_cost + from + i - 1])
  end
  local told = require('attempt')(now, dry_run, checks, expiry, set_option, expire_command)
  return string.format(string.rep(' %d', #told), unpack(told))
end

local lines = { string.format('%d', now) }
for from = 0, #KEYS - 1, policies do
  local done, told = pcall(decide, from)
  lines[#lines + 1] = done and told or '!' .. (type(told) == 'table' and told.err or tostring(told))
end
return table.concat(lines, '\n')
