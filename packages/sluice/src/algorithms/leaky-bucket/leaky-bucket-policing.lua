-- Leaky bucket, policing. State: level, and when. Arguments: capacity, leakRate (units a second).
-- Twin: leaky-bucket.ts, which explains.
return require('shared/level')(...)
