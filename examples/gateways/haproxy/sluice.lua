-- Asks `sluice serve` whether a request may go on. Reads: the request. Writes: txn.sluice (allowed, away) and the rate limit headers as
-- variables. A refusal goes to the client as the service worded it.
-- Only what is named here is sent: the headers of clients stay with them, so that none can describe another request.

local QUESTION = "http://127.0.0.1:8079/v1/check"

-- A little more than the times of the backend `sluice`, which are the ones to change.
local PATIENCE_MS = 3000

-- What a question may hold of a client's request, in bytes. HAProxy takes 15 KB from clients and has no more for the question either, so
-- that a long request would make a question that cannot be sent, and pass where the service seems away.
local LONGEST = 8192

-- Headers that the rules look at. Where rules read X-Plan, it has to come from whoever checks the API key, never from the client.
local PASSED_ON = { "x-api-key" }

local VARIABLES = {
  ["ratelimit"] = "txn.sluice_ratelimit",
  ["ratelimit-policy"] = "txn.sluice_policy",
  ["x-ratelimit-limit"] = "txn.sluice_limit",
  ["x-ratelimit-remaining"] = "txn.sluice_remaining",
  ["x-ratelimit-reset"] = "txn.sluice_reset",
}

-- Of the service's answer; the rest is about the connection it came on.
local REFUSAL_HEADERS = { "content-type", "cache-control", "retry-after", "x-request-id" }

-- The headers of the question, and how much they hold.
local function question(txn)
  local headers = {
    ["x-forwarded-method"] = { txn.f:method() },
    ["x-forwarded-uri"] = { txn.f:pathq() },
    ["x-forwarded-for"] = { txn.f:src() },
  }
  for _, name in ipairs(PASSED_ON) do
    local value = txn.f:req_fhdr(name)
    if value and value ~= "" then headers[name] = { value } end
  end
  local bytes = 0
  for _, values in pairs(headers) do bytes = bytes + #values[1] end
  return headers, bytes
end

local function first(response, name)
  local values = response.headers and response.headers[name]
  return values and values[0]
end

local function refuse(txn, response)
  local reply = txn:reply({ status = response.status, body = response.body })
  for _, name in ipairs(REFUSAL_HEADERS) do
    local value = first(response, name)
    if value then reply:add_header(name, value) end
  end
  for name in pairs(VARIABLES) do
    local value = first(response, name)
    if value then reply:add_header(name, value) end
  end
  txn:done(reply)
end

core.register_action("sluice_check", { "http-req" }, function(txn)
  local headers, bytes = question(txn)
  if bytes > LONGEST then return txn:done(txn:reply({ status = 431 })) end
  local response = core.httpclient():get({ url = QUESTION, headers = headers, timeout = PATIENCE_MS })
  -- The service signs every answer with a request id: what has none is HAProxy's own word for "away" or "too slow".
  if not response or not first(response, "x-request-id") then
    txn:set_var("txn.sluice", "away")
    return
  end
  if response.status ~= 200 then return refuse(txn, response) end
  txn:set_var("txn.sluice", "allowed")
  for name, variable in pairs(VARIABLES) do
    local value = first(response, name)
    if value then txn:set_var(variable, value) end
  end
end, 0)
