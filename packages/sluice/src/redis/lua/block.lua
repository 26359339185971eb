-- A blocked key: its state behind a prefix of 64 bytes, 'b' and the moment it ends. No state is that long by itself, but for
-- a log, which keeps the moment in its header.
local PREFIX = 64
-- Anything shorter than this is a whole number in digits. No other state is that short.
local DIGITS = 20

-- The moment, and the state inside as every transition takes it.
local function opened(raw)
  local ends, state, stored = struct.unpack('<d', raw, 2), nil, nil
  if #raw > PREFIX then state = string.sub(raw, PREFIX + 1) end
  if state and #state < DIGITS then stored = state + 0 end
  return ends, state, stored
end

-- What an attempt is told while the key is blocked: never yes, and not before the block ends.
local function refuse(wait, retry, reset)
  if retry < wait then retry = wait end
  if reset < wait then reset = wait end
  return 0, retry, reset, 0
end

return PREFIX, opened, refuse, DIGITS
