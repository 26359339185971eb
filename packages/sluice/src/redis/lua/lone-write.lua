-- Carries out what the lone part of an algorithm has decided, if it has. See expiry.lua and value.lua, which do the same for all others.
if remaining then
  if state then
    if delta and reset > 100000 then
      if delta == true then call('SETRANGE', key, '0', state) else call('INCRBY', key, delta) end
    else
      delta, lasts = nil, false
      if type(state) == 'number' then state = format('%d', state) end
    end
    if not lasts or supplied ~= '' then
      local ends, option, command = now + (reset < 1000 and 1000 or reset), 'PXAT', 'PEXPIREAT'
      if grain >= 1000 then ends = ends - ends % grain + grain end
      if supplied ~= '' then ends, option, command = (math.ceil(reset / 1000) + 86400000) * 1000, 'PX', 'PEXPIRE' end
      ends = format('%d', (ends - ends % 1000) / 1000)
      if delta then call(command, key, ends) else call('SET', key, state, option, ends) end
    end
  end
  if more == 0 then return format('%d %d %d', now, remaining, reset) end
  return format('%d %d %d %d', now, remaining, reset, more)
end
