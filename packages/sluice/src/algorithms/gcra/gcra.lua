-- Generic cell rate algorithm. State: the theoretical arrival time. Arguments: capacity, interval (microseconds a unit).
-- Twin: gcra.ts, which explains.
return require('shared/horizon')(...)
