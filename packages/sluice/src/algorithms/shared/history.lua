-- What a rule that remembers single admissions holds within its window, in pieces.
--   KEYS[1]   the state
--   ARGV      [1] now in microseconds, or '' for the server's own clock; [2] [3] [4] arguments of the algorithm; [5] only what was admitted
--             after this time; [6] at most so many
-- Reply       lines: what a look sees (see decide.lua), then time and units of each admission, oldest first
local raw, stored, _, blocked_until = read(KEYS[1])
local remaining, retry, reset, delay = transition(now, 0, raw, stored)
if blocked_until > now then remaining, retry, reset, delay = refused(blocked_until - now, retry, reset) end
local lines = { format('%d %d %d %d', now, remaining, reset, more_of(retry, delay)) }
local listed = entries(raw, ARGV[5] + 0.0, tonumber(ARGV[6]))
for i = 1, #listed, 2 do lines[#lines + 1] = format('%d %d', listed[i], listed[i + 1]) end
return table.concat(lines, '\n')
