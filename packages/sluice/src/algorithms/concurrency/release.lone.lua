-- One permit that is given back, ahead of all functions, where nothing is blocked, no permit is over and the clock has not stepped back. What it leaves
-- undecided, and everything else, is for release.lua.
local raw = #KEYS == 1 and ARGV[6] ~= '' and call('GET', KEYS[1])
if raw and #raw > 24 then
  local blocked_until, used, latest, _, first_end = struct.unpack('<ddddd', raw)
  local known_by = struct.pack('<d', ARGV[5] + 0.0)
  local at = string.find(raw, known_by, 25, true)
  if at and at % 20 == 5 and blocked_until <= now and latest <= now and first_end > now then
    local back, _, ends, units = ARGV[6] + 0.0, struct.unpack('<ddI4', raw, at)
    local rest = ''
    if back < units then rest = struct.pack('<ddI4', ARGV[5] + 0.0, ends, units - back) else back = units end
    if used == back then
      call('DEL', KEYS[1])
      return format('%d\n%d 0 0 %d', now, x, back)
    end
    raw = struct.pack('<ddd', blocked_until, used - back, latest) .. string.sub(raw, 25, at - 1) .. rest .. string.sub(raw, at + 20)
    local reset = struct.unpack('<d', raw, #raw - 11) - now
    local ends_at, option = now + (reset < 1000 and 1000 or reset), 'PXAT'
    if supplied ~= '' then ends_at, option = (math.ceil(reset / 1000) + 86400000) * 1000, 'PX' end
    call('SET', KEYS[1], raw, option, format('%d', (ends_at - ends_at % 1000) / 1000))
    return format('%d\n%d %d 0 %d', now, x > used - back and x - used + back or 0, reset, back)
  end
end
