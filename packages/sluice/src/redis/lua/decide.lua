-- Attempts under several policies, each all or nothing, decided and spent atomically, in order: read every state, run every transition,
-- write only if all of them allow it. A denied attempt writes nothing, but for a state that a large clock step has made unreadable (see
-- "Clock steps" in docs/semantics.md). A lone attempt may also be remembered, or take as much as there is.
--   KEYS   for each attempt, one for each policy; then that of the mark, if there is one
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] '1' for a dry run, else ''; [3] how many policies; [4] the least that
--          is of use, or '' when it is the whole cost; [5] for how many microseconds the mark is kept, or '' for none; then
--          four for each policy: which of the MODULES, three arguments of it; then the costs, as KEYS
-- Reply    lines: now, then one for each attempt: for each policy remaining, resetAfter and what else there is to say (see block.lua);
--          or '!' and an error, which is that attempt's alone; then, where [4] or [5] was given, what became of the mark ('made', 'found'
--          or '-') and the units granted
-- A mark is text: when it ends, now, and for each policy until when the spend would be remembered and its cost (see model/store.ts).
local dry_run, policies, least, ttl = ARGV[2] == '1', tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local first_cost, last_key, mark_key = 6 + policies * 4, #KEYS, nil
if ttl then last_key, mark_key = last_key - 1, KEYS[last_key] end
local noted = ttl and call('GET', mark_key)
local is_found = noted and tonumber(string.match(noted, '^%d+')) > now
local made, granted = is_found and 'found' or '-', nil

-- A check is a policy's functions, and what was found and decided with them.
local checks = {}
for i = 1, policies do
  local at = 2 + i * 4
  checks[i] = MODULES[tonumber(ARGV[at])](ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0, ARGV[at + 3])
end

local function decide_check(check, key, cost)
  check.key, check.cost = key, cost
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

-- As much as there is under all policies, from the least that is of use up to what is asked for.
local function grant()
  granted = ARGV[first_cost] + 0.0
  for i, check in ipairs(checks) do
    decide_check(check, KEYS[i], 0.0)
    granted = math.min(granted, check.remaining)
  end
  granted = math.max(granted, least) + 0.0
end

local function remember()
  made = 'made'
  local marks = { now + ttl, now }
  for _, check in ipairs(checks) do
    marks[#marks + 1] = now + check.reset
    marks[#marks + 1] = check.cost
  end
  local text = format('%d' .. string.rep(' %d', #marks - 1), unpack(marks))
  call('SET', mark_key, text, set_option, expiry(ttl))
end

local function attempt(from)
  if least and not is_found then grant() end
  local all_allowed = true
  for i, check in ipairs(checks) do
    local cost = is_found and 0 or granted or ARGV[first_cost + from + i - 1]
    local allowed = decide_check(check, KEYS[from + i], cost + 0.0)
    all_allowed = all_allowed and allowed
  end
  local told = {}
  for i, check in ipairs(checks) do
    if is_found then check.retry, check.delay = 0, 0
    elseif check.retry == 0 and (dry_run or not all_allowed) then
      -- Nothing is spent after all: what is told is what a look would see, though still whether it would have been allowed.
      local _
      check.remaining, _, check.reset = check.transition(now, 0, check.raw, check.stored)
      if not all_allowed then check.delay = 0 end
    elseif check.state and not dry_run then check.write(check.key, check.found, check.state, check.delta, check.reset, check.grain) end
    told[i] = format('%d %d %d', check.remaining, check.reset, more_of(check.retry, check.delay))
  end
  -- Only of a lone attempt: the next ones of a call have costs of their own.
  if not all_allowed then granted = granted and 0
  elseif ttl and not is_found and not dry_run then remember() end
  return table.concat(told, ' ')
end

local lines = { format('%d', now) }
for from = 0, last_key - 1, policies do
  local done, told = pcall(attempt, from)
  lines[#lines + 1] = done and told or '!' .. (type(told) == 'table' and told.err or tostring(told))
end
if least or ttl then lines[#lines + 1] = format('%s %d', made, granted or 0) end
return table.concat(lines, '\n')
