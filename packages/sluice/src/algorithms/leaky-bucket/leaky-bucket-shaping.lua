-- Leaky bucket, shaping. State: the next free time. Arguments: capacity, interval (microseconds a unit takes to leak out).
-- Twin: leaky-bucket.ts, which explains.
return require('shared/horizon')
