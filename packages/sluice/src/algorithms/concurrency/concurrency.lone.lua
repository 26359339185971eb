-- A lone attempt that takes a place beside few others, where nothing is blocked, no permit is over and the clock has not stepped back (see
-- concurrency.lua).
if asked > 0 and asked <= x then
  if raw == '' then
    remaining, more, reset = x - asked, 0, y
    state = struct.pack('<ddddI4I4I4ddI4', 0, asked, now, now + y, 0, 1, 1, now + y, now + y, asked)
  elseif #raw > 44 then
    local blocked_until, used, latest, newest, head, count, live, _, first_end = struct.unpack('<ddddI4I4I4dd', raw)
    if blocked_until <= now and latest <= now and first_end > now and used + asked <= x and live == count and head == 0
      and #raw == 44 + 20 * count and count < 100 then
      local ends = newest + 1
      if ends < now + y then ends = now + y end
      remaining, more, reset = x - used - asked, 0, ends - now
      state = struct.pack('<ddddI4I4I4', blocked_until, used + asked, now, ends, 0, count + 1, count + 1) .. string.sub(raw, 45)
        .. struct.pack('<ddI4', ends, ends, asked)
    end
  end
end
