-- What an attempt under several policies is made of. A check is a policy's functions, and what was found and decided with them.
local function decide_check(check, key, cost)
  check.key = key
  check.raw, check.stored, check.found, check.blocked_until = check.read(key)
  check.remaining, check.retry, check.reset, check.delay, check.state, check.delta =
    check.transition(now, cost, check.raw, check.stored)
  if check.blocked_until > now then
    check.state = nil
    local _, _, look_reset = check.transition(now, 0, check.raw, check.stored)
    check.remaining, check.retry, check.reset, check.delay =
      refused(check.blocked_until - now, check.retry, look_reset)
  end
  return check.retry == 0
end

-- Nothing is spent after all: what is told is what a look would see, though still whether it would have been allowed.
local function unspent(check, all_allowed)
  local _
  check.remaining, _, check.reset = check.transition(now, 0, check.raw, check.stored)
  if not all_allowed then check.delay = 0 end
end
