-- One attempt under one policy or several that is remembered, or that takes as much as there is; decided, spent and noted atomically.
--   KEYS   one for each policy; then that of the mark, if there is one
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] '1' for a dry run, else ''; [3] how many policies; [4] the least that
--          is of use, or '' when it is the whole cost; [5] for how many microseconds the mark is kept, or '' for none; then five for
--          each policy: which of the MODULES, three arguments of it, the cost
-- Reply    lines: now; then what became of the mark ('made', 'found', or '-') and the units granted; then as in decide.lua
-- A mark is text: when it ends, now, and for each policy until when the spend would be remembered and its cost (see model/store.ts).
local dry_run, policies, least, ttl = ARGV[2] == '1', tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local mark_key = KEYS[policies + 1]
local noted = ttl and call('GET', mark_key)
local is_found = noted and tonumber(string.match(noted, '^%d+')) > now

local checks, costs, granted = {}, {}, tonumber(ARGV[10])
for i = 1, policies do
  local at = 1 + i * 5
  checks[i] = MODULES[tonumber(ARGV[at])](ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0, ARGV[at + 3])
  costs[i] = is_found and 0.0 or ARGV[at + 4] + 0.0
  if least and not is_found then
    decide_check(checks[i], KEYS[i], 0.0)
    if checks[i].remaining < granted then granted = checks[i].remaining end
  end
end
if least and granted < least then granted = least end

local all_allowed = true
for i, check in ipairs(checks) do
  if least and not is_found then costs[i] = granted + 0.0 end
  local allowed = decide_check(check, KEYS[i], costs[i])
  all_allowed = all_allowed and allowed
end

local told, marks = {}, { now }
for i, check in ipairs(checks) do
  local more = more_of(check.retry, check.delay)
  if is_found then more = 0
  elseif check.retry == 0 and (dry_run or not all_allowed) then
    unspent(check, all_allowed)
    more = more_of(check.retry, check.delay)
  elseif check.state and not dry_run then check.write(check.key, check.found, check.state, check.delta, check.reset, check.grain) end
  told[i] = format('%d %d %d', check.remaining, check.reset, more)
  marks[#marks + 1] = now + check.reset
  marks[#marks + 1] = costs[i]
end

local made = is_found and 'found' or '-'
if ttl and not is_found and all_allowed and not dry_run then
  made = 'made'
  local text = format('%d' .. string.rep(' %d', #marks), now + ttl, unpack(marks))
  call('SET', mark_key, text, set_option, expiry(ttl))
end
if is_found or not all_allowed then granted = 0 end
return format('%d\n%s %d\n%s', now, made, granted, table.concat(told, ' '))
