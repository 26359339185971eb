-- Many attempts under one policy, each decided and spent by itself, in order. There is one such script for each algorithm.
--   KEYS   one for each attempt; attempts on the same key stand together, and share one read and one write
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] [3] [4] arguments of the algorithm; then the costs
-- Reply    lines: now, then for each attempt the five numbers of decide.lua, or '!' and an error, which is that attempt's alone
local load, transition, save, has_entries = require('ALGORITHM')
local read, expiry = require('time')
local format, huge = string.format, math.huge

local now = read(ARGV[1])
local x, y, z = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local lines = { format('%d', now) }
local key, first, a, b, c, next_a, next_b, next_c, next_reset, failure

local function fail(error)
  failure = '!' .. (type(error) == 'table' and error.err or tostring(error))
end

-- Writes what the attempts on the current key have come to. If that fails, none of them was carried out.
local function store(last)
  if not next_a then return end
  local option, value = expiry(ARGV[1], now, next_reset)
  local stored, error = pcall(save, key, option, value, next_a, next_b, next_c)
  if not stored then
    fail(error)
    for i = first, last do lines[i + 1] = failure end
  end
  next_a = nil
end

for i = 1, #KEYS do
  -- A log's change is not a state to go on from: it is written and read again.
  if KEYS[i] ~= key or has_entries then
    store(i - 1)
    key, first, failure = KEYS[i], i, nil
    local loaded
    loaded, a, b, c = pcall(load, key)
    if not loaded then fail(a) end
  end
  if failure then
    lines[i + 1] = failure
  else
    local allowed, remaining, retry, reset, delay, na, nb, nc = transition(now, tonumber(ARGV[4 + i]), x, y, z, a, b, c)
    if na then a, b, c, next_a, next_b, next_c, next_reset = na, nb, nc, na, nb, nc, reset end
    lines[i + 1] = format('%d %d %d %d %d', allowed and 1 or 0, remaining, retry == huge and -1 or retry, reset, delay)
  end
end
store(#KEYS)
return table.concat(lines, '\n')
