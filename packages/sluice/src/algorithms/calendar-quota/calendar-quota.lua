-- Calendar quota. Twin: calendar-quota.ts, which explains. shared/windows.lua follows.
--   z   where periods start around the time of the caller, in microseconds and in order: '1760000000000000 1760003600000000 ...'
-- The period of now and the end of the next one. A script has one now, so they are looked up once.
local opens, ends, next_ends
local function look_up(now)
  for text in string.gmatch(z, '%d+') do
    opens, ends, next_ends = ends, next_ends, text + 0.0
    if opens and opens <= now and now < ends then return end
  end
  error('SLUICE_CLOCKS the clocks of this server and of the process that asks are more than two periods apart')
end

local function window_at(now, start, count)
  if not opens then look_up(now) end
  if not start or start < opens then return opens, ends, 0, false end
  if start < ends then return opens, ends, count, false end
  if start < next_ends then return ends, next_ends, count, false end
  return opens, ends, count, true
end
