-- Generic cell rate algorithm. State: the theoretical arrival time. Arguments: capacity, interval (microseconds a unit).
-- Twin: gcra.ts, which explains.
local horizon = require('shared/horizon')

local function transition(...)
  local allowed, remaining, retry_after, reset_after, _, next = horizon.transition(...)
  return allowed, remaining, retry_after, reset_after, 0, next
end

return { load = horizon.load, transition = transition, save = horizon.save }
