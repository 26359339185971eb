-- The algorithm of a letter, for scripts that take any: its transition, penalize and refund, and for a log how to load and
-- save it.
local code, x, y, z = ...
x, y = tonumber(x), tonumber(y)
if code == 't' then return require('token-bucket/token-bucket')(x, y, z) end
if code == 'g' then return require('gcra/gcra')(x, y, z) end
if code == 'f' then return require('fixed-window/fixed-window')(x, y, z) end
if code == 'c' then return require('sliding-window-counter/sliding-window-counter')(x, y, z) end
if code == 'l' then return require('sliding-window-log/sliding-window-log')(x, y, z) end
if code == 'p' then return require('leaky-bucket/leaky-bucket-policing')(x, y, z) end
if code == 's' then return require('leaky-bucket/leaky-bucket-shaping')(x, y, z) end
error('SLUICE unknown algorithm ' .. tostring(code))
