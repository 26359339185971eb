-- Many spends under one policy that last until they are given back: each is given back, or lasts for longer, by itself and in order.
--   KEYS   one for each; those on the same key stand together, and share one read and one write
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] [3] [4] arguments of the algorithm; then for each two: the moment it
--          is known by, and units to give back, or '' to let it last for longer
-- Reply    lines: now, then for each what a look sees afterwards (see decide.lua), and by how many units the state changed; or '!' and an
--          error, which is of the key alone
local lines = { format('%d', now) }
-- Of a lone one, in release.lone.lua.
local read_already = raw

local function release(from)
  local key, at = KEYS[from], from
  local raw, _, _, blocked_until = read(key, read_already)
  local is_changed, told = false, {}
  repeat
    local id, units = ARGV[at * 2 + 3] + 0.0, ARGV[at * 2 + 4]
    local state, changed
    if units == '' then state, changed = extend(now, raw, id)
    else state, changed = refund(now, units + 0.0, raw, nil, id, id) end
    if state then raw, is_changed = state, true end
    local remaining, retry, reset, delay = transition(now, 0, raw)
    if blocked_until > now then remaining, retry, reset, delay = refused(blocked_until - now, retry, reset) end
    told[#told + 1] = format('%d %d %d %d', remaining, reset, more_of(retry, delay), changed)
    at = at + 1
  until KEYS[at] ~= key
  if is_changed then
    local _, _, reset = transition(now, 0, raw)
    replace(key, blocked_until, reset, raw)
  end
  return told
end

local from = 1
while from <= #KEYS do
  local done, told = pcall(release, from)
  local key, failure = KEYS[from], not done and '!' .. (type(told) == 'table' and told.err or tostring(told))
  local at = 1
  repeat
    lines[#lines + 1] = failure or told[at]
    from, at = from + 1, at + 1
  until KEYS[from] ~= key
end
return table.concat(lines, '\n')
