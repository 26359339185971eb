-- What a sliding window log holds within its window.
--   KEYS[1]   the log
--   ARGV      [1] now in microseconds, or '' for the server's own clock; [2] window in microseconds
-- Reply       time in microseconds, units, time, units, ... oldest first
local log = require('sliding-window-log/sliding-window-log')
local now = require('time')(ARGV[1])
return log.history(log.load(KEYS[1]), now, tonumber(ARGV[2]))
