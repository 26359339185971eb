-- What a server offers to scripts, in plain Lua 5.1 and 5.4: redis.call for the commands that Sluice uses, and struct. Only what servers of
-- that Lua have is there: any other name raises an error, as on a server.
--   stdin    for each call: how many words, then of each word its length and its bytes: SHA-1, source, number of keys, keys, arguments
--   stdout   '+' or '-' for an error, a length, and the reply
local is_new = _VERSION ~= 'Lua 5.1'
local values, expires = {}, {}

local function now_ms() return os.time() * 1000 end

local function get(key)
  if expires[key] and expires[key] <= now_ms() then values[key], expires[key] = nil, nil end
  return values[key]
end

-- As servers do: a number among the arguments of a command is written with all its digits.
local function word(value)
  if type(value) == 'number' then return string.format('%.17g', value) end
  if type(value) ~= 'string' then error({ err = 'ERR Lua redis lib command arguments must be strings or integers' }) end
  return value
end

-- Digits, and nothing else: '5.0' and '1e6' are refused.
local function whole(text)
  if not string.match(text, '^%-?%d+$') then error({ err = 'ERR value is not an integer or out of range' }) end
  return tonumber(text)
end

local commands = {}

function commands.TIME() return { tostring(os.time()), '0' } end

function commands.GET(key) return get(key) or false end

function commands.MGET(...)
  local found = {}
  for i, key in ipairs({ ... }) do found[i] = get(key) or false end
  return found
end

function commands.SET(key, value, option, time, condition)
  if condition == 'NX' and get(key) then return false end
  values[key] = value
  expires[key] = option == 'PX' and now_ms() + whole(time) or option == 'PXAT' and whole(time) or nil
  return { ok = 'OK' }
end

function commands.DEL(...)
  local gone = 0
  for _, key in ipairs({ ... }) do
    if get(key) then gone = gone + 1 end
    values[key], expires[key] = nil, nil
  end
  return gone
end

function commands.INCRBY(key, by)
  local sum = whole(get(key) or '0') + whole(by)
  values[key] = string.format('%d', sum)
  return sum
end

function commands.GETRANGE(key, from, to)
  local last = whole(to)
  return string.sub(get(key) or '', whole(from) + 1, last < 0 and last or last + 1)
end

function commands.SETRANGE(key, at, text)
  local old, offset = get(key) or '', whole(at)
  if #old < offset then old = old .. string.rep('\0', offset - #old) end
  values[key] = string.sub(old, 1, offset) .. text .. string.sub(old, offset + #text + 1)
  return #values[key]
end

local function expire(key, at)
  if not get(key) then return 0 end
  expires[key] = at
  return 1
end

function commands.PEXPIRE(key, time) return expire(key, now_ms() + whole(time)) end

function commands.PEXPIREAT(key, time) return expire(key, whole(time)) end

function commands.PTTL(key)
  if not get(key) then return -2 end
  return expires[key] and expires[key] - now_ms() or -1
end

local function call(name, ...)
  local words = { ... }
  for i = 1, #words do words[i] = word(words[i]) end
  local command = commands[name] or error({ err = 'ERR unknown command ' .. tostring(name) })
  return command((table.unpack or unpack)(words))
end

-- struct for Lua 5.1: little-endian doubles (d), unsigned integers of so many bytes (I4, B) and padding (x).
local function double_bytes(number)
  if number == 0 then return string.rep('\0', 8) end
  local sign = number < 0 and 128 or 0
  local fraction, exponent = math.frexp(math.abs(number))
  local mantissa, bytes = (fraction * 2 - 1) * 2 ^ 52, {}
  for i = 1, 6 do
    bytes[i] = mantissa % 256
    mantissa = math.floor(mantissa / 256)
  end
  local biased = exponent + 1022
  bytes[7] = mantissa + (biased % 16) * 16
  bytes[8] = math.floor(biased / 16) + sign
  return string.char((table.unpack or unpack)(bytes))
end

local function double_at(text, at)
  local bytes = { string.byte(text, at, at + 7) }
  local mantissa = bytes[7] % 16
  for i = 6, 1, -1 do mantissa = mantissa * 256 + bytes[i] end
  local biased = (bytes[8] % 128) * 16 + math.floor(bytes[7] / 16)
  local number = biased == 0 and 0 or math.ldexp(1 + mantissa / 2 ^ 52, biased - 1023)
  return bytes[8] >= 128 and -number or number
end

local function old_pack(format, ...)
  local at, texts, given = 0, {}, { ... }
  for kind, width in string.gmatch(string.sub(format, 2), '(%a)(%d*)') do
    if kind ~= 'x' then at = at + 1 end
    if kind == 'x' then texts[#texts + 1] = '\0'
    elseif kind == 'd' then texts[#texts + 1] = double_bytes(given[at])
    else
      local number = given[at]
      for _ = 1, kind == 'B' and 1 or tonumber(width) do
        texts[#texts + 1] = string.char(number % 256)
        number = math.floor(number / 256)
      end
    end
  end
  return table.concat(texts)
end

local function old_unpack(format, text, from)
  local at, found = from or 1, {}
  for kind, width in string.gmatch(string.sub(format, 2), '(%a)(%d*)') do
    local bytes = kind == 'd' and 8 or tonumber(width) or 1
    if at + bytes - 1 > #text then error('data string too short') end
    if kind == 'd' then found[#found + 1] = double_at(text, at)
    elseif kind ~= 'x' then
      local number = 0
      for i = at + bytes - 1, at, -1 do number = number * 256 + string.byte(text, i) end
      found[#found + 1] = number
    end
    at = at + bytes
  end
  found[#found + 1] = at
  return unpack(found)
end

local struct = is_new and { pack = string.pack, unpack = string.unpack } or { pack = old_pack, unpack = old_unpack }

local OFFERED = { 'string', 'math', 'table', 'tonumber', 'tostring', 'type', 'ipairs', 'pairs', 'pcall', 'error', 'select' }

local function environment(keys, args)
  local names = { redis = { call = call }, struct = struct, KEYS = keys, ARGV = args }
  for _, name in ipairs(OFFERED) do names[name] = _G[name] end
  if not is_new then names.unpack = unpack end
  local refuse = function(_, name) error('Script attempted to access nonexistent global variable \'' .. tostring(name) .. '\'') end
  return setmetatable(names, { __index = refuse, __newindex = refuse })
end

local function compiled(source, names)
  if is_new then return assert(load(source, '@script', 't', names)) end
  return setfenv(assert(loadstring(source, '@script')), names)
end

local function run(words)
  local key_count, keys, args = tonumber(words[3]), {}, {}
  for i = 4, #words do
    if i < 4 + key_count then keys[#keys + 1] = words[i] else args[#args + 1] = words[i] end
  end
  return compiled(words[2], environment(keys, args))()
end

local function text_of(reply)
  if type(reply) == 'table' then return reply.err or reply.ok or 'a table' end
  return tostring(reply)
end

while true do
  local count = io.read('*l')
  if not count then break end
  local words = {}
  for i = 1, tonumber(count) do
    local length = tonumber(io.read('*l'))
    words[i] = length > 0 and io.read(length) or ''
  end
  local done, reply = pcall(run, words)
  local text = text_of(reply)
  io.write(done and '+' or '-', #text, '\n', text)
  io.flush()
end
