-- One reading of one clock for everything a script decides. `supplied` is now in microseconds, or '' for the server's own clock.
local call, format = redis.call, string.format
local now
if supplied == '' then
  local time = call('TIME')
  now = time[1] * 1000000.0 + time[2]
else
  now = supplied + 0.0
end
