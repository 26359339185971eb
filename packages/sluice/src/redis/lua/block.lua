-- A blocked key: its state behind a prefix of 64 bytes, 'b' and the moment it ends. No state is that long by itself, but for
-- a log, which keeps the moment in its header.
local PREFIX = 64

-- The moment and the state inside; false for none.
local function opened(raw)
  return struct.unpack('<d', raw, 2), #raw > PREFIX and string.sub(raw, PREFIX + 1) or false
end

-- What an attempt is told while the key is blocked: never yes, and not before the block ends.
local function refuse(wait, retry, reset)
  return false, 0, retry > wait and retry or wait, reset > wait and reset or wait, 0
end

return PREFIX, opened, refuse
