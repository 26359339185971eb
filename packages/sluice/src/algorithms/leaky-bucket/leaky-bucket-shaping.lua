-- Leaky bucket, shaping. State: the next free time. Arguments: capacity, interval (microseconds a unit takes to leak out), and '1':
-- the caller waits. Twin: leaky-bucket.ts, which explains.
return require('shared/horizon')(...)
