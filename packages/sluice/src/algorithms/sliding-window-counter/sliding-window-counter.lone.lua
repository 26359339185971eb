-- A lone attempt that fits, on counts in digits or none (see sliding-window-counter.lua).
if (not raw or #raw < 20) and asked > 0 then
  local opens, current, previous, start = now - now % y, 0, 0, nil
  if raw then
    start = raw + 0.0
    local counts = start % 1e6
    start, current = start - counts, counts % 1000
    previous = (counts - current) / 1000
    if start < opens - y then start, current, previous = nil, 0, 0
    elseif start == opens - y then start, current, previous = nil, 0, current end
  end
  local faded = 0
  if previous > 0 then
    local tolerance = (0.1 * previous) / y
    if tolerance > 1e-9 then tolerance = 1e-9 end
    faded = (previous * (y - (now - opens))) / y + tolerance
    faded = faded - faded % 1
  end
  local after = current + asked
  if (not start or start == opens) and after + faded <= x and after < 1000 and previous < 1000 and opens % 1e6 == 0 then
    -- The first microsecond of the next window at which nothing is left of what is counted here.
    local tolerance = (0.1 * after) / y
    if tolerance > 1e-9 then tolerance = 1e-9 end
    local fades = math.ceil(y * (1 - (1 - tolerance) / after))
    if fades < 0 then fades = 0 end
    if (after * (y - fades)) / y + tolerance < 1 and (fades == 0 or (after * (y - fades + 1)) / y + tolerance >= 1) then
      remaining, more, reset = x - after - faded, 0, opens + y + fades - now
      state = opens + 1000 * previous + after
      if x >= 32 then grain = y / 8 - y / 8 % 1000 end
      if start == opens then
        delta = asked == 1 and '1' or format('%d', asked)
        -- When it was to end before, or two microseconds earlier: rounding may move it by one.
        local before = opens + y + y * (1 - 1 / current) - 2
        lasts = steady and x >= 64 and now + reset - (now + reset) % grain <= before
      end
    end
  end
end
