/**
 * The five algorithms as tutorials write them, for comparison only: each has at least one of the faults Sluice avoids
 * (a denied attempt that is charged, a retry time that is missing or wrong, milliseconds cut off).
 */
export const TEXTBOOK = {
  'fixed-window': `
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if count == tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
local ttl = redis.call('PTTL', KEYS[1])
return { count <= tonumber(ARGV[2]) and 1 or 0, math.max(0, tonumber(ARGV[2]) - count), ttl }`,
  'sliding-window-log': `
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3] * 1000)
local count = redis.call('ZCARD', KEYS[1])
if count + ARGV[1] > tonumber(ARGV[2]) then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return { 0, 0, oldest[2] + ARGV[3] * 1000 - now }
end
for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], now, string.format('%d-%d', now, i)) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return { 1, ARGV[2] - count - ARGV[1], 0 }`,
  'sliding-window-counter': `
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local window = math.floor(now / ARGV[3])
local current_key = KEYS[1] .. ':' .. window
local current = tonumber(redis.call('GET', current_key) or '0')
local previous = tonumber(redis.call('GET', KEYS[1] .. ':' .. (window - 1)) or '0')
local weight = 1 - (now % ARGV[3]) / ARGV[3]
if previous * weight + current + ARGV[1] > tonumber(ARGV[2]) then return { 0, 0, 0 } end
redis.call('INCRBY', current_key, ARGV[1])
redis.call('PEXPIRE', current_key, ARGV[3] * 2)
return { 1, math.floor(ARGV[2] - previous * weight - current - ARGV[1]), 0 }`,
  'token-bucket': `
local now = redis.call('TIME')
now = now[1] + now[2] / 1000000
local bucket = redis.call('HGETALL', KEYS[1])
local tokens, at = tonumber(ARGV[2]), now
if #bucket > 0 then tokens, at = tonumber(bucket[2]), tonumber(bucket[4]) end
tokens = math.min(tonumber(ARGV[2]), tokens + (now - at) * ARGV[3])
local allowed = tokens >= tonumber(ARGV[1])
if allowed then tokens = tokens - ARGV[1] end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(ARGV[2] / ARGV[3]))
return { allowed and 1 or 0, math.floor(tokens), 0 }`,
  'leaky-bucket': `
local now = redis.call('TIME')
now = now[1] + now[2] / 1000000
local bucket = redis.call('HGETALL', KEYS[1])
local level, at = 0, now
if #bucket > 0 then level, at = tonumber(bucket[2]), tonumber(bucket[4]) end
level = math.max(0, level - (now - at) * ARGV[3])
local allowed = level + ARGV[1] <= tonumber(ARGV[2])
if allowed then level = level + ARGV[1] end
redis.call('HSET', KEYS[1], 'level', tostring(level), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(ARGV[2] / ARGV[3]))
return { allowed and 1 or 0, math.floor(ARGV[2] - level), 0 }`,
};
