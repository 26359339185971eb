-- Changes of states that are one short value (see value.lua).
-- A blocked key has its state behind a prefix of 64 bytes: 'b', the moment the block ends, the moment the state would have expired (doubles).
local PADDING = 47

local function sealed(blocked_until, expires, state)
  return struct.pack('<Bdd', 98, blocked_until, expires) .. string.rep('\0', PADDING) .. state
end

-- Writes a state in the place of another, behind the block if there is one. `reset` is the time it lasts.
local function replace(key, blocked_until, reset, state, grain)
  if type(state) == 'number' then state = format('%d', state) end
  if blocked_until > now then
    local text = sealed(blocked_until, kept_until(reset, grain), reset > 0 and state or '')
    call('SET', key, text, set_option, expiry(math.max(kept_until(reset, grain), blocked_until) - now, 0))
  elseif reset > 0 then call('SET', key, state, set_option, expiry(reset, grain))
  else call('DEL', key) end
end

-- Blocks the key, or ends its block. What was spent is kept for as long as it would have been.
local function seal(key, state, expires, blocked_until)
  if state and expires == 0 then expires = now + call('PTTL', key) * 1000 end
  if blocked_until > now then
    local lasts = math.max(expires, blocked_until) - now
    call('SET', key, sealed(blocked_until, expires, state or ''), set_option, expiry(lasts, 0))
  elseif state and expires > now then call('SET', key, state, set_option, expiry(expires - now, 0))
  else call('DEL', key) end
end
