-- One attempt under any number of policies, all or nothing: read every state, run every transition, write only if all
-- of them allow it. A denied attempt writes nothing, but for a state that a large clock step has made unreadable (see
-- "Clock steps" in docs/semantics.md).
--   now       microseconds
--   checks    { key, algorithm, cost, three arguments of the algorithm } each
--   dry_run   decide and write nothing
--   expiry    function (resetAfter) -> the option and value that make a key expire no sooner than then
-- Returns five numbers for each check: allowed (1 or 0), remaining, retryAfter (-1 never), resetAfter, delay.
local modules = {}

local function algorithm(code)
  local module = modules[code]
  if module then return module end
  if code == 't' then module = require('token-bucket/token-bucket')
  elseif code == 'g' then module = require('gcra/gcra')
  elseif code == 'f' then module = require('fixed-window/fixed-window')
  elseif code == 'c' then module = require('sliding-window-counter/sliding-window-counter')
  elseif code == 'l' then module = require('sliding-window-log/sliding-window-log')
  elseif code == 'p' then module = require('leaky-bucket/leaky-bucket-policing')
  elseif code == 's' then module = require('leaky-bucket/leaky-bucket-shaping')
  else error({ err = 'SLUICE unknown algorithm ' .. tostring(code) }) end
  modules[code] = module
  return module
end

-- Nothing is spent after all: what is told is what a look would see, though still whether it would have been allowed.
local function look(module, state, now, check, reply, at)
  local _, remaining, _, reset = module.transition(state, now, 0, check[4], check[5], check[6])
  reply[at - 3], reply[at - 1] = remaining, reset
end

local function attempt(now, checks, dry_run, expiry)
  local reply, states, nexts, all_allowed = {}, {}, {}, true
  for i, check in ipairs(checks) do
    local module = algorithm(check[2])
    local state = module.load(check[1])
    local allowed, remaining, retry, reset, delay, next =
      module.transition(state, now, check[3], check[4], check[5], check[6])
    local at = i * 5
    reply[at - 4], reply[at - 3], reply[at - 2] = allowed and 1 or 0, remaining, retry == math.huge and -1 or retry
    reply[at - 1], reply[at] = reset, delay
    states[i], nexts[i] = state, next
    all_allowed = all_allowed and allowed
  end

  for i, check in ipairs(checks) do
    local module, at = algorithm(check[2]), i * 5
    if reply[at - 4] == 1 and (dry_run or not all_allowed) then
      look(module, states[i], now, check, reply, at)
      if not all_allowed then reply[at] = 0 end
    elseif nexts[i] and not dry_run then
      module.save(check[1], nexts[i], expiry(now, reply[at - 1]))
    end
  end
  return reply
end

return attempt
