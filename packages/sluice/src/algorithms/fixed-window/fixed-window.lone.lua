-- A lone attempt in a window on the clock (see fixed-window.lua): nothing there, or digits of this window or an earlier one.
if (not raw or #raw < 20) and z == 'epoch' and asked > 0 then
  local opens, count, start = now - now % y, 0, nil
  if raw then
    start = raw + 0.0
    count = start % 1e6
    start = start - count
    if start < opens then start, count = nil, 0 end
  end
  if (not start or start == opens) and opens % 1e6 == 0 and count + asked < 1e6 then
    reset = opens + y - now
    if count + asked <= x then
      remaining, more, state = x - count - asked, 0, opens + count + asked
      if start then delta, lasts = asked == 1 and '1' or format('%d', asked), steady end
    else
      remaining, more = x - count, asked <= x and reset or -1
      if remaining < 0 then remaining = 0 end
      if count == 0 then reset = 0 end
    end
  end
end
