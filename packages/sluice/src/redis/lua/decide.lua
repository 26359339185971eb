-- Attempts under several policies, each all or nothing, decided and spent atomically, in order: read every state, run every transition,
-- write only if all of them allow it (several.lua). A denied attempt writes nothing, but for a state that a large clock step has made unreadable (see
-- "Clock steps" in docs/semantics.md).
--   KEYS   for each attempt, one for each policy
--   ARGV   [1] now in microseconds, or '' for the server's own clock; [2] '1' for a dry run, else ''; [3] how many policies;
--          four for each policy: which of the MODULES, three arguments of it; then the costs, as KEYS
-- Reply    lines: now, then one for each attempt: for each policy remaining, resetAfter and what else there is to say (see block.lua);
--          or '!' and an error, which is that attempt's alone
local dry_run, policies = ARGV[2] == '1', tonumber(ARGV[3])
local first_cost = 4 + policies * 4

local checks = {}
for i = 1, policies do
  local at = i * 4
  checks[i] = MODULES[tonumber(ARGV[at])](ARGV[at + 1] + 0.0, ARGV[at + 2] + 0.0, ARGV[at + 3])
end

local function attempt(from)
  local all_allowed = true
  for i, check in ipairs(checks) do
    local allowed = decide_check(check, KEYS[from + i], ARGV[first_cost + from + i - 1] + 0.0)
    all_allowed = all_allowed and allowed
  end
  local told = {}
  for _, check in ipairs(checks) do
    if check.retry == 0 and (dry_run or not all_allowed) then unspent(check, all_allowed)
    elseif check.state and not dry_run then check.write(check.key, check.found, check.state, check.delta, check.reset, check.grain) end
    told[#told + 1] = format('%d %d %d', check.remaining, check.reset, more_of(check.retry, check.delay))
  end
  return table.concat(told, ' ')
end

local lines = { format('%d', now) }
for from = 0, #KEYS - 1, policies do
  local done, told = pcall(attempt, from)
  lines[#lines + 1] = done and told or '!' .. (type(told) == 'table' and told.err or tostring(told))
end
return table.concat(lines, '\n')
