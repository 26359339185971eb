/**
 * The same in Lua, line by line. `x`, `y` and `z` are the three `args` of the rule, `x` and `y` as numbers. A state is text of 20 to 63 characters here;
 * shorter is for a whole number in digits, longer for a blocked key.
 *
 *     transition(now, cost, raw)                      -> remaining, retryAfter, resetAfter, delay, and the next state if there is one
 *     penalize(now, cost, raw)                        -> the next state or nil, units
 *     refund(now, cost, raw, _, spent_at, _, cost)    -> the next state or nil, units
 */
export const DEBT_BUCKET_LUA = `
local span, interval, recovery = x, y, z + 0.0

local function owed_of(now, raw)
  if not raw then return 0, true end
  local until_, old = string.match(raw, '^d0*(%d+):(%d+)$')
  local is_same, distance = old + 0.0 == interval, math.max(0, until_ - now)
  local owed = is_same and distance or math.ceil(distance / old * interval)
  return math.min(owed, recovery), is_same and owed <= recovery
end

local function room_of(owed) return math.max(0, math.floor((span - owed) / interval)) end

local function written(moment) return string.format('d%020d:%d', moment, interval) end

local function transition(now, cost, raw)
  local owed, is_ours = owed_of(now, raw)
  local after = owed + cost * interval
  if cost == 0 then return room_of(owed), 0, owed, 0 end
  if after <= span then return room_of(after), 0, after, 0, written(now + after) end
  local retry = cost * interval > span and math.huge or after - span
  return room_of(owed), retry, owed, 0, not is_ours and written(now + owed) or nil
end

local function penalize(now, cost, raw)
  local owed = owed_of(now, raw)
  local units = math.min(cost, math.max(0, (recovery - owed) / interval))
  if units == 0 then return nil, 0 end
  return written(now + owed + math.floor(units * interval + 0.5)), units
end

local function refund(now, cost, raw, _, spent_at, _, spent_cost)
  local owed = owed_of(now, raw)
  local left = owed
  if spent_at then left = math.min(owed, spent_cost * interval - (now - spent_at)) end
  local back = math.min(cost * interval, left)
  if back <= 0 then return nil, 0 end
  return written(now + owed - back), back / interval
end
`;
