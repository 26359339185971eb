-- A window start and one or two counts in one STRING, for the fixed window and the sliding window counter.
-- State: { start in microseconds, count [, count] }. Usually the start is whole seconds and everything fits 18 digits: then
-- it is written as digits only, which Redis keeps as an 8-byte integer and not as text:
--   start in seconds, each count padded to the same width, the number of counts, that width:  1724400000 042 007 2 3
-- Otherwise as text with separators: 'm1724400000250000:42:7'.
local format, sub = string.format, string.sub

local function load(key)
  local raw = redis.call('GET', key)
  if not raw then return nil end
  if string.byte(raw) == 109 then
    local start, first, second = string.match(raw, '^m(%d+):(%d+):?(%d*)$')
    return { tonumber(start), tonumber(first), tonumber(second) }
  end
  local digits = #raw
  local width = tonumber(sub(raw, digits))
  local first_at = digits - 1 - width
  if sub(raw, digits - 1, digits - 1) == '1' then
    return { tonumber(sub(raw, 1, first_at - 1)) * 1e6, tonumber(sub(raw, first_at, digits - 2)) }
  end
  local second_at = first_at
  first_at = first_at - width
  return {
    tonumber(sub(raw, 1, first_at - 1)) * 1e6,
    tonumber(sub(raw, first_at, second_at - 1)),
    tonumber(sub(raw, second_at, digits - 2)),
  }
end

local function save(key, state, ...)
  local start, first, second = state[1], state[2], state[3]
  local width = #format('%d', math.max(first, second or 0))
  local raw
  if start % 1e6 == 0 and width <= 6 then
    if second then
      raw = format('%d%0' .. width .. 'd%0' .. width .. 'd2%d', start / 1e6, first, second, width)
    else
      raw = format('%d%d1%d', start / 1e6, first, width)
    end
  else
    raw = second and format('m%d:%d:%d', start, first, second) or format('m%d:%d', start, first)
  end
  redis.call('SET', key, raw, ...)
end

return { load = load, save = save }
