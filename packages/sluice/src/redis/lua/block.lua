-- What an attempt is told while the key is blocked: never yes, and not before the block ends.
local function refused(wait, retry, reset)
  if retry < wait then retry = wait end
  if reset < wait then reset = wait end
  return 0, retry, reset, 0
end

-- What else there is to say of an attempt in one number: 0 when it is allowed; a retryAfter when it is denied, -1 when it never can be
-- allowed; below that allowed with a delay of (-1 - this). Microseconds.
local function more_of(retry, delay)
  if delay > 0 then return -1 - delay end
  if retry == math.huge then return -1 end
  return retry
end
