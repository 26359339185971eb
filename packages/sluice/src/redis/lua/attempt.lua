-- One attempt under any number of policies. See decide.lua, which is this and a clock; here the time is an argument.
--   keys      one for each check
--   words     five for each check, from `first` on: algorithm, cost, and three arguments of the algorithm
--   expiry    function (words[1], now, resetAfter) -> the option and value with which to SET
-- Returns the reply of decide.lua without the time.
local function algorithm(code)
  if code == 't' then return require('token-bucket/token-bucket') end
  if code == 'g' then return require('gcra/gcra') end
  if code == 'f' then return require('fixed-window/fixed-window') end
  if code == 'c' then return require('sliding-window-counter/sliding-window-counter') end
  if code == 'l' then return require('sliding-window-log/sliding-window-log') end
  if code == 'p' then return require('leaky-bucket/leaky-bucket-policing') end
  if code == 's' then return require('leaky-bucket/leaky-bucket-shaping') end
  error('SLUICE unknown algorithm ' .. tostring(code))
end

-- A check and what has become of it so far: its functions, its words, its state, its answer, its next state.
local function decide(key, words, at, now)
  local load, transition, save = algorithm(words[at])
  local a, b, c = load(key)
  local check = { key = key, transition = transition, save = save, x = words[at + 2], y = words[at + 3], z = words[at + 4],
    a = a, b = b, c = c }
  check.allowed, check.remaining, check.retry, check.reset, check.delay, check.next_a, check.next_b, check.next_c =
    transition(now, tonumber(words[at + 1]), check.x, check.y, check.z, a, b, c)
  return check
end

-- Nothing is spent after all: what is told is what a look would see, though still whether it would have been allowed.
local function unspent(check, now, all_allowed)
  local _
  _, check.remaining, _, check.reset = check.transition(now, 0, check.x, check.y, check.z, check.a, check.b, check.c)
  if not all_allowed then check.delay = 0 end
end

return function(keys, words, first, now, dry_run, expiry)
  local checks, all_allowed = {}, true
  for i = 1, #keys do
    checks[i] = decide(keys[i], words, first + (i - 1) * 5, now)
    all_allowed = all_allowed and checks[i].allowed
  end
  local reply = {}
  for i, check in ipairs(checks) do
    if check.allowed and (dry_run or not all_allowed) then
      unspent(check, now, all_allowed)
    elseif check.next_a and not dry_run then
      local option, value = expiry(words[1], now, check.reset)
      check.save(check.key, option, value, check.next_a, check.next_b, check.next_c)
    end
    reply[i] = string.format('%d %d %d %d %d', check.allowed and 1 or 0, check.remaining,
      check.retry == math.huge and -1 or check.retry, check.reset, check.delay)
  end
  return table.concat(reply, ' ')
end
