-- A lone attempt that takes a place, where nothing is blocked, no permit is over and the clock has not stepped back (see concurrency.lua).
if asked > 0 and asked <= x then
  if not raw then
    remaining, more, reset = x - asked, 0, y
    state = struct.pack('<dddddI4', 0, asked, now, now + y, now + y, asked)
  elseif #raw > 24 then
    local blocked_until, used, latest, _, first_end = struct.unpack('<ddddd', raw)
    if blocked_until <= now and latest <= now and first_end > now and used + asked <= x then
      local ends = struct.unpack('<d', raw, #raw - 11) + 1
      if ends < now + y then ends = now + y end
      remaining, more, reset = x - used - asked, 0, ends - now
      state = struct.pack('<ddd', blocked_until, used + asked, now) .. string.sub(raw, 25) .. struct.pack('<ddI4', ends, ends, asked)
    end
  end
end
