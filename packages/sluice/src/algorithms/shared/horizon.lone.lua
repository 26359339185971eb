-- A lone attempt on a horizon in whole microseconds (see horizon.lua): nothing there, or digits. A state that is too far ahead to be true is left
-- to horizon.lua.
if (not raw or #raw < 20) and y % 1 == 0 and asked > 0 and z ~= 'n' and z ~= 'dn' then
  local span, ahead = x * y, 0
  if raw then
    ahead = raw - now
    if ahead < 0 then ahead = 0 end
  end
  local beyond = ahead + asked * y
  if beyond <= span then
    more, reset, state = 0, beyond, now + beyond
    if z == 'd' and ahead > 0 then more = -1 - ahead end
    if x >= 32 then grain = 4 * y - 4 * y % 1000 end
    if ahead > 0 then
      delta = asked == 1 and unit or format('%d', asked * y)
      lasts = steady and x >= 64 and state - state % grain <= now + ahead
    end
    remaining = (span - beyond - (span - beyond) % y) / y
  elseif ahead <= 2 * span then
    more, reset = asked <= x and beyond - span or -1, ahead
    remaining = x - (ahead + -ahead % y) / y
    if remaining < 0 then remaining = 0 end
  end
end
