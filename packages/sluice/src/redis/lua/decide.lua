-- One attempt under several policies, all or nothing, decided and spent atomically: read every state, run every transition,
-- write only if all of them allow it. A denied attempt writes nothing, but for a state that a large clock step has made
-- unreadable (see "Clock steps" in docs/semantics.md).
--   KEYS   one for each check
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] '1' for a dry run, else ''
--          then five for each check: algorithm, cost, and three arguments of the algorithm
-- Reply    one string of whole numbers: now, then for each check allowed (1 or 0), remaining, retryAfter (-1 never),
--          resetAfter, delay. Microseconds.
local attempt = require('attempt')
local read, expiry = require('time')
local now = read(ARGV[1])
return string.format('%d ', now) .. attempt(KEYS, ARGV, 3, now, ARGV[2] == '1', expiry)
