-- The common case of one attempt, ahead of all functions: a script makes its functions anew with every call, and that costs more than
-- deciding. An algorithm may say here what becomes of a plain state (NAME.lone.lua): it sets `remaining`, `reset` and `more`, and `state` if there
-- is one to write, or leaves `remaining` alone; then everything is decided as in any other script, further down. `raw` is what was read of the key.
local key, asked = KEYS[1], (cost or 1) + 0.0
-- `delta` is the digits to add to the stored integer, or true when the stored string has the same length; `lasts` means that the key expires when it
-- did before. `unit` is `y` in digits; `steady` says that this state is never asked about with other numbers.
local remaining, reset, more, state, delta, lasts
local grain = 0
