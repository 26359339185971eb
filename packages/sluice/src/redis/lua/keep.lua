-- Writes a state with its expiry, as cheaply as Redis can: what is there already is changed in place.
--   found   true when the key holds a state in the form that `delta` speaks of, false when it holds none, nil otherwise
--   delta   the number to add to the stored integer; true when the stored string has the same length; nil to write it anew
local expiry, set_option, expire_command = ...
local call, format = redis.call, string.format
local added, added_text, kept, kept_text
-- PEXPIREAT drops a key at once when that millisecond has begun meanwhile, SET only when it is over. So what is to be
-- forgotten this soon is written anew.
local SOON = 100000

local function keep(key, found, state, delta, reset)
  if reset ~= kept then kept, kept_text = reset, expiry(reset) end
  if found and delta and reset > SOON then
    if delta == true then call('SETRANGE', key, '0', state)
    else
      if delta ~= added then added, added_text = delta, format('%d', delta) end
      call('INCRBY', key, added_text)
    end
    call(expire_command, key, kept_text)
    return
  end
  if type(state) == 'number' then state = format('%d', state) end
  if found ~= false then call('SET', key, state, set_option, kept_text)
  -- Nothing was found, so if something is there it is none of ours: reading it says so in the server's words.
  elseif not call('SET', key, state, set_option, kept_text, 'NX') then call('GET', key) end
end

return keep
