-- States that are one short value: read whole, written whole or changed in place. An algorithm that keeps its states in another way brings
-- read, write, replace and seal of its own; the latter two, for changes, are in value-changes.lua.
-- Read whole, so that many can be read with one command.
local READS_WHOLE = true
-- Anything shorter than this is a whole number in digits. No other state is that short.
local DIGITS = 20
-- A blocked key has its state behind a prefix of this length, see value-changes.lua. No state is that long by itself.
local PREFIX = 64
-- PEXPIREAT drops a key at once when that millisecond has begun meanwhile, SET only when it is over. So what is to be forgotten this soon
-- is written anew.
local SOON = 100000

-- The state as transition takes it, as a number if it is one; whether it can be changed in place (false: it is not there); until when the key is
-- blocked; and when the state behind a block expires. `raw` is what was read already, if it was.
local function read(key, raw)
  if raw == nil then raw = call('GET', key) end
  if not raw then return nil, nil, false, 0, 0 end
  if #raw < DIGITS then return raw, raw + 0.0, true, 0, 0 end
  if #raw < PREFIX then return raw, nil, true, 0, 0 end
  local blocked_until, expires = struct.unpack('<dd', raw, 2)
  if #raw == PREFIX then return nil, nil, nil, blocked_until, 0 end
  local state, stored = string.sub(raw, PREFIX + 1), nil
  if #state < DIGITS then stored = state + 0.0 end
  return state, stored, nil, blocked_until, expires
end

-- Writes a state with its expiry, as cheaply as Redis can.
--   found   true when the key holds a state in the form that `delta` speaks of, false when it holds none, nil otherwise
--   delta   the number to add to the stored integer; true when the stored string has the same length; nil to write it anew
local last_reset, last_grain, expires_at, last_delta, added_text
local function write(key, found, state, delta, reset, grain)
  -- Of many attempts most write the same: what was last put into words, and the words.
  if reset ~= last_reset or grain ~= last_grain then
    last_reset, last_grain, expires_at = reset, grain, expiry(reset, grain)
  end
  if found and delta and reset > SOON then
    if delta ~= last_delta then last_delta, added_text = delta, delta ~= true and format('%d', delta) end
    if added_text then call('INCRBY', key, added_text) else call('SETRANGE', key, '0', state) end
    call(expire_command, key, expires_at)
    return
  end
  if type(state) == 'number' then state = format('%d', state) end
  if found ~= false then call('SET', key, state, set_option, expires_at)
  -- Nothing was found, so if something is there it is none of ours: reading it says so in the server's words.
  elseif not call('SET', key, state, set_option, expires_at, 'NX') then call('GET', key) end
end
