-- One permit that is given back whole, ahead of all functions, where few are held, nothing is blocked, no permit is over and the clock has not stepped
-- back. What it leaves undecided, and everything else, is for release.lua.
local raw = #KEYS == 1 and ARGV[6] ~= '' and call('GETRANGE', KEYS[1], '0', '2043')
if raw and #raw > 44 then
  local blocked_until, used, latest, newest, head, count, live, _, first_end = struct.unpack('<ddddI4I4I4dd', raw)
  local at = string.find(raw, struct.pack('<d', ARGV[5] + 0.0), 45, true)
  if at and at % 20 == 5 and blocked_until <= now and latest <= now and first_end > now and live == count and head == 0
    and #raw == 44 + 20 * count then
    local _, _, back = struct.unpack('<ddI4', raw, at)
    if back <= ARGV[6] + 0.0 then
      if used == back then
        call('DEL', KEYS[1])
        return format('%d\n%d 0 0 %d', now, x, back)
      end
      local rest = string.sub(raw, 45, at - 1) .. string.sub(raw, at + 20)
      newest = struct.unpack('<d', rest, #rest - 11)
      local reset = newest - now
      local ends_at, option = now + (reset < 1000 and 1000 or reset), 'PXAT'
      if supplied ~= '' then ends_at, option = (math.ceil(reset / 1000) + 86400000) * 1000, 'PX' end
      call('SET', KEYS[1], struct.pack('<ddddI4I4I4', blocked_until, used - back, latest, newest, 0, count - 1, count - 1) .. rest, option,
        format('%d', (ends_at - ends_at % 1000) / 1000))
      return format('%d\n%d %d 0 %d', now, x > used - back and x - used + back or 0, reset, back)
    end
  end
end
