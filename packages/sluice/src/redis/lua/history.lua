-- What a sliding window log holds within its window.
--   KEYS[1]   the log
--   ARGV      [1] now in microseconds, or '' for the server's own clock; [2] window in microseconds
-- Reply       time in microseconds, units, time, units, ... oldest first
local load, _, _, history = require('sliding-window-log/sliding-window-log')
local read = require('time')
return history(load(KEYS[1]), read(ARGV[1]), tonumber(ARGV[2]))
