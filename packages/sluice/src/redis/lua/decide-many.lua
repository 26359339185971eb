-- Many attempts under one policy, each decided and spent by itself, in order.
--   KEYS   one for each attempt; attempts on the same key stand together, and share one read and one write if their states are values
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] [3] [4] arguments of the algorithm; then the costs, or
--          nothing when all of them are 1
-- Reply    whole numbers: now, then remaining and resetAfter of each attempt, then what else there is to say of each (see
--          block.lua), or nothing when that is 0 for all. When an attempt fails: lines, namely now, then for each attempt
--          its three numbers, or '!' and an error, which is that attempt's alone.
local attempts, first, has_more, failures = #KEYS, 1, false, nil
local numbers, more = { now }, {}
-- Whether a state can be decided on again before it is written.
local carries = READS_WHOLE
local raws = READS_WHOLE == true and call('MGET', unpack(KEYS))

-- Decides all attempts from `first` on, key by key. An error ends it at the key that it is about.
local function decide()
  local costs, at, asked = ARGV[5] and ARGV, first, 1
  while at <= attempts do
    first = at
    local key = KEYS[at]
    local raw, stored, found, blocked_until = read(key, raws and raws[at])
    local wait, kept, added, kept_reset = blocked_until - now, nil, nil, nil
    repeat
      if costs then asked = costs[at + 4] + 0.0 end
      local remaining, retry, reset, delay, state, delta = transition(now, asked, raw, stored)
      if wait > 0 then
        local _, _, look_reset = transition(now, 0, raw, stored)
        remaining, retry, reset, delay = refused(wait, retry, look_reset)
      elseif state and not carries then
        write(key, found, state, delta, reset, grain)
      elseif state then
        kept, kept_reset = state, reset
        if not delta then found = found and nil
        elseif added and delta ~= true then added = added + delta
        else added = delta end
        raw, stored = state, type(state) == 'number' and state or nil
      end
      local told = more_of(retry, delay)
      numbers[at * 2], numbers[at * 2 + 1], more[at] = remaining, reset, told
      if told ~= 0 then has_more = true end
      at = at + 1
      local again = carries and KEYS[at] == key
    until not again
    if kept then write(key, found, kept, added, kept_reset, grain) end
  end
  first = at
end

while first <= attempts do
  local done, failure = pcall(decide)
  if not done then
    failures = failures or {}
    repeat
      failures[first] = '!' .. (type(failure) == 'table' and failure.err or tostring(failure))
      first = first + 1
    until KEYS[first] ~= KEYS[first - 1]
  end
end

if failures then
  local lines = { format('%d', now) }
  for at = 1, attempts do
    lines[at + 1] = failures[at] or format('%d %d %d', numbers[at * 2], numbers[at * 2 + 1], more[at])
  end
  return table.concat(lines, '\n')
end
local text = format('%d' .. string.rep(' %d %d', attempts), unpack(numbers))
if has_more then text = text .. format(string.rep(' %d', attempts), unpack(more)) end
return text
