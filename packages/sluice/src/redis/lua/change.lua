-- Changes that are no attempts: they are always carried out, all of them atomically.
--   KEYS   one for each change
--   ARGV   [1] now in microseconds, or '' for the server's own clock; then for each change nine: verb; which of the MODULES and three
--          arguments of it; cost, or for a block how long in microseconds; for a refund when it was spent and until when that would
--          have been remembered, and its cost, or ''; the same of what is to last for longer.
--          The first may be 'settle', whose key is that of a mark: unless the mark says what follows the cost, and its time is not over,
--          nothing is changed, and if it does it is removed
-- Reply    lines: now, then for each change what a look sees afterwards (see decide.lua), and by how many units the state changed
local function carry_out(verb, key, rule, amount, at)
  local raw, stored, _, blocked_until, expires = rule.read(key)
  if verb == 'block' then rule.seal(key, raw, expires, now + amount)
  elseif verb == 'unblock' then
    if blocked_until > 0 then rule.seal(key, raw, expires, 0) end
  else
    local state, units = nil, 0
    if verb == 'penalize' then state, units = rule.penalize(now, amount, raw, stored)
    elseif verb == 'extend' then
      if rule.extend then state, units = rule.extend(now, raw, tonumber(ARGV[at + 7])) end
    else
      state, units = rule.refund(now, amount, raw, stored, tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7]), tonumber(ARGV[at + 8]))
    end
    if state then
      local _, reset
      -- What is no value finds out by itself how long it lasts.
      if type(state) ~= 'table' then _, _, reset = rule.transition(now, 0, state, type(state) == 'number' and state or nil) end
      rule.replace(key, blocked_until, reset, state, rule.grain)
    end
    return units
  end
  return 0
end

local function settle(key, text)
  if call('GET', key) ~= text or tonumber(string.match(text, '^%d+')) <= now then return false end
  call('DEL', key)
  return true
end

local lines = { format('%d', now) }
local first, is_off = 1, false
if ARGV[2] == 'settle' then
  is_off = not settle(KEYS[1], ARGV[8])
  first, lines[2] = 2, is_off and 'missing' or 'found'
end
for i = first, #KEYS do
  local at = i * 9 - 7
  local rule = MODULES[tonumber(ARGV[at + 1])](ARGV[at + 2] + 0.0, ARGV[at + 3] + 0.0, ARGV[at + 4])
  local units = is_off and 0 or carry_out(ARGV[at], KEYS[i], rule, tonumber(ARGV[at + 5]), at)
  local raw, stored, _, blocked_until = rule.read(KEYS[i])
  local remaining, retry, reset, delay = rule.transition(now, 0, raw, stored)
  if blocked_until > now then remaining, retry, reset, delay = refused(blocked_until - now, retry, reset) end
  lines[i + 1] = format('%d %d %d %.17g', remaining, reset, more_of(retry, delay), units)
end
return table.concat(lines, '\n')
