-- What a sliding window log holds within its window.
--   KEYS[1]   the log
--   ARGV      [1] now in microseconds, or '' for the server's own clock; [2] limit, [3] window in microseconds
-- Reply       time in microseconds, units, time, units, ... oldest first
local now = require('time')(ARGV[1])
local _, _, _, load, _, history = require('sliding-window-log/sliding-window-log')(tonumber(ARGV[2]), tonumber(ARGV[3]))
return history(load(KEYS[1]), now)
