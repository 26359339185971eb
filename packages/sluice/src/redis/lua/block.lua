-- A blocked key: its state behind a prefix of 64 bytes, 'b' and the moment it ends. No state is that long by itself, but for
-- a log, which keeps the moment in its header.
local PREFIX = 64

-- The moment and the state inside; false for none.
local function opened(raw)
  local ends, state = struct.unpack('<d', raw, 2), #raw > PREFIX and string.sub(raw, PREFIX + 1)
  return ends, state
end

-- What an attempt is told while the key is blocked: never yes, and not before the block ends.
local function refuse(wait, retry, reset)
  if retry < wait then retry = wait end
  if reset < wait then reset = wait end
  return 0, retry, reset, 0
end

return PREFIX, opened, refuse
