-- Token bucket. State: tokens spent and not yet refilled, and when. Arguments: capacity, refillRate (tokens a second).
-- Twin: token-bucket.ts, which explains.
return require('shared/level')(...)
