-- The reply of many attempts, see decide-many.lua.
local numbers, more, has_more, failures = ...
-- As in every file that needs one of the two: what is said alike stands once in a script.
local call, format = redis.call, string.format
local attempts = #KEYS
local text
if failures then
  local lines = { format('%d', numbers[1]) }
  for at = 1, attempts do
    lines[at + 1] = failures[at] or format('%d %d %d', numbers[at * 2], numbers[at * 2 + 1], more[at])
  end
  text = table.concat(lines, '\n')
else
  text = format('%d' .. string.rep(' %d %d', attempts), unpack(numbers))
  if has_more then text = text .. format(string.rep(' %d', attempts), unpack(more)) end
end
return text
