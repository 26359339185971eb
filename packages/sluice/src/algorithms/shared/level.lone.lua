-- A lone attempt that fits, on a level that was measured in the past (see level.lua).
if asked > 0 and (not raw or #raw < 64) then
  local level, since, tolerance = 0, now, 0.1 * y / 1e6
  if tolerance > 1e-9 then tolerance = 1e-9 end
  if raw and #raw < 20 then level, since = string.sub(raw, -3) + 0.0, string.sub(raw, 1, -4) + 0.0
  elseif raw then level, since = struct.unpack('<dd', raw, 2) end
  local left = level - ((now - since) * y) / 1e6
  if left <= tolerance then left = 0 end
  if since <= now and level <= x and left <= x - asked + tolerance then
    left = left + asked
    if left > x then left = x end
    local room = x - left + tolerance
    room = room - room % 1
    if left > x - room + tolerance then room = room - 1
    elseif left <= x - (room + 1) + tolerance then room = room + 1 end
    if room < 0 then room = 0 end
    local drains = math.ceil(((left - tolerance) * 1e6) / y)
    if left - (drains * y) / 1e6 <= tolerance and left - ((drains - 1) * y) / 1e6 > tolerance then
      remaining, more, reset = room, 0, drains
      if left % 1 == 0 and left < 1000 and now < 1e16 then state = format('%d%03d', now, left)
      else
        state = struct.pack('<Bddxxx', 108, left, now)
        if raw and #raw >= 20 then delta = true end
      end
      if x >= 32 then grain = 4e6 / y - 4e6 / y % 1000 end
      -- When it was to end before, or two microseconds earlier: rounding may move it by one.
      lasts = steady and x >= 64 and (now + drains) - (now + drains) % grain <= since + ((level - tolerance) * 1e6) / y - 2
    end
  end
end
