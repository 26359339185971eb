-- A window start and one or two counts in one STRING, for the fixed window and the sliding window counter.
-- State: start in microseconds, count [, count]. Usually the start is whole seconds and everything fits 18 digits: then it
-- is written as digits only, which Redis keeps as an 8-byte integer and not as text:
--   start in seconds, each count padded to the same width, the number of counts, that width:  1724400000 042 007 2 3
-- Otherwise as text with separators: 'm1724400000250000:42:7'.
local format, sub = string.format, string.sub

local function load(key)
  local raw = redis.call('GET', key)
  if not raw then return nil end
  if string.byte(raw) == 109 then
    local start, first, second = string.match(raw, '^m(%d+):(%d+):?(%d*)$')
    return tonumber(start), tonumber(first), tonumber(second)
  end
  local width = string.byte(raw, -1) - 48
  if string.byte(raw, -2) == 49 then return sub(raw, 1, -3 - width) * 1e6, tonumber(sub(raw, -2 - width, -3)) end
  return sub(raw, 1, -3 - 2 * width) * 1e6, tonumber(sub(raw, -2 - 2 * width, -3 - width)), tonumber(sub(raw, -2 - width, -3))
end

local function width_of(count)
  if count < 10 then return 1 elseif count < 100 then return 2 elseif count < 1000 then return 3 end
  if count < 10000 then return 4 elseif count < 100000 then return 5 elseif count < 1000000 then return 6 end
end

local function save(key, option, expiry, start, first, second)
  local width = start % 1e6 == 0 and width_of(math.max(first, second or 0))
  local raw
  if width and second then
    local padded = '%0' .. width .. 'd'
    raw = format('%d' .. padded .. padded .. '2%d', start / 1e6, first, second, width)
  elseif width then raw = format('%d%d1%d', start / 1e6, first, width)
  elseif second then raw = format('m%d:%d:%d', start, first, second)
  else raw = format('m%d:%d', start, first) end
  redis.call('SET', key, raw, option, expiry)
end

return load, save
