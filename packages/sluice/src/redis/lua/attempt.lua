-- One attempt under several policies, all or nothing: read every state, run every transition, write only if all of them
-- allow it. A denied attempt writes nothing, but for a state that a large clock step has made unreadable (see "Clock
-- steps" in docs/semantics.md).
--   checks   for each: key, cost, transition, and for a log load and save
-- Returns a list: remaining, resetAfter and what else there is to say of each check (see decide-one.lua).
local now, dry_run, checks, expiry, set_option, expire_command = ...
local keep = require('keep')(expiry, set_option, expire_command)
local PREFIX, opened, refuse, DIGITS = require('block')()

local function read(check)
  check.found, check.blocked_until = true, 0
  if check.load then
    check.raw = check.load(check.key)
    if check.raw then check.blocked_until = check.raw.blocked_until end
    return
  end
  check.raw = redis.call('GET', check.key)
  check.stored = nil
  if not check.raw then check.found = false
  elseif #check.raw < DIGITS then check.stored = check.raw + 0
  elseif #check.raw >= PREFIX then
    check.blocked_until, check.raw, check.stored = opened(check.raw)
    check.found = nil
  end
end

local function decide(check)
  read(check)
  check.remaining, check.retry, check.reset, check.delay, check.state, check.delta =
    check.transition(now, check.cost, check.raw, check.stored)
  if check.blocked_until > now then
    check.state = nil
    local _, _, look_reset = check.transition(now, 0, check.raw, check.stored)
    check.remaining, check.retry, check.reset, check.delay =
      refuse(check.blocked_until - now, check.retry, look_reset)
  end
end

-- Nothing is spent after all: what is told is what a look would see, though still whether it would have been allowed.
local function unspent(check, all_allowed)
  local _
  check.remaining, _, check.reset = check.transition(now, 0, check.raw, check.stored)
  if not all_allowed then check.delay = 0 end
end

local function spend(check)
  if check.save then check.save(check.key, check.state, expiry(check.reset), set_option, expire_command)
  else keep(check.key, check.found, check.state, check.delta, check.reset) end
end

local all_allowed = true
for _, check in ipairs(checks) do
  decide(check)
  all_allowed = all_allowed and check.retry == 0
end
local told = {}
for _, check in ipairs(checks) do
  if check.retry == 0 and (dry_run or not all_allowed) then unspent(check, all_allowed)
  elseif check.state and not dry_run then spend(check) end
  if check.delay > 0 then check.retry = -1 - check.delay elseif check.retry == math.huge then check.retry = -1 end
  told[#told + 1], told[#told + 2], told[#told + 3] = check.remaining, check.reset, check.retry
end
return told
