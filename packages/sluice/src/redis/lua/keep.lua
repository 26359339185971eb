-- Writes a state with its expiry, as cheaply as Redis can: what is there already is changed in place.
--   found   true when the key holds a state in the form that `delta` speaks of, false when it holds none, nil otherwise
--   delta   the number to add to the stored integer; true when the stored string has the same length; nil to write it anew
local expiry, set_option, expire_command = ...
local call, format = redis.call, string.format
-- PEXPIREAT drops a key at once when that millisecond has begun meanwhile, SET only when it is over. So what is to be
-- forgotten this soon is written anew.
local SOON = 100000
-- Of many attempts most write the same: what was last put into words, and the words.
local last_reset, kept_until, last_delta, added_text

local function keep(key, found, state, delta, reset)
  if reset ~= last_reset then
    last_reset = reset
    kept_until = expiry(reset)
  end
  if found and delta and reset > SOON then
    if delta ~= last_delta then last_delta, added_text = delta, delta ~= true and format('%d', delta) end
    if added_text then call('INCRBY', key, added_text) else call('SETRANGE', key, '0', state) end
    call(expire_command, key, kept_until)
  else
    if type(state) == 'number' then state = format('%d', state) end
    if found ~= false then call('SET', key, state, set_option, kept_until)
    -- Nothing was found, so if something is there it is none of ours: reading it says so in the server's words.
    elseif not call('SET', key, state, set_option, kept_until, 'NX') then call('GET', key) end
  end
end

return keep
