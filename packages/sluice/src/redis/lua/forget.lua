-- Makes keys as good as new.
--   KEYS   all states of one key
-- Reply    how many there were
return redis.call('DEL', unpack(KEYS))
