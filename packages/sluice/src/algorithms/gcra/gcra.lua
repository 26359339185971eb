-- Generic cell rate algorithm. State: the theoretical arrival time. Arguments: capacity, interval (microseconds a unit).
-- Twin: gcra.ts, which explains.
local load, booking, save = require('shared/horizon')

local function transition(...)
  local allowed, remaining, retry, reset, _, whole, fraction = booking(...)
  return allowed, remaining, retry, reset, 0, whole, fraction
end

return load, transition, save
