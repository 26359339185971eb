-- Fixed window. Twin: fixed-window.ts, which explains. shared/windows.lua follows.
--   y   window in microseconds
--   z   'epoch' or 'first'
local function window_at(now, start, count)
  local opens = z == 'epoch' and now - now % y or now
  if not start then return opens, opens + y, 0, false end
  if start - now > y then return opens, opens + y, count, true end
  if z == 'first' then
    if now - start >= y then return opens, opens + y, 0, false end
    return start, start + y, count, false
  end
  if start > now then
    start = start - start % y
    return start, start + y, count, false
  end
  return opens, opens + y, start < opens and 0 or count, false
end
