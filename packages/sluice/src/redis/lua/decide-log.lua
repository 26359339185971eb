-- Attempts under one sliding window log, each decided and spent by itself, in order: one of them, or many.
--   KEYS, ARGV, reply   as in decide-many.lua
-- A log's change is not a state to go on from, so every attempt reads and writes.
local transition, _, _, load, save = require('sliding-window-log/sliding-window-log')(tonumber(ARGV[2]), tonumber(ARGV[3]))
local now, expiry, set_option, expire_command = require('time')(ARGV[1])
local _, _, refuse = require('block')()

local numbers, more, has_more, failures = { now }, {}, false, nil

local function decide(at)
  local log = load(KEYS[at])
  local remaining, retry, reset, _, change = transition(now, tonumber(ARGV[at + 4] or 1), log)
  if log and log.blocked_until > now then
    local _, _, look_reset = transition(now, 0, log)
    remaining, retry, reset = refuse(log.blocked_until - now, retry, look_reset)
  elseif change then save(KEYS[at], change, expiry(reset), set_option, expire_command) end
  if retry == math.huge then retry = -1 end
  numbers[at * 2], numbers[at * 2 + 1], more[at] = remaining, reset, retry
  if retry ~= 0 then has_more = true end
end

for at = 1, #KEYS do
  local done, failure = pcall(decide, at)
  if not done then
    failures = failures or {}
    failures[at] = '!' .. (type(failure) == 'table' and failure.err or tostring(failure))
  end
end
return require('reply')(numbers, more, has_more, failures)
