-- Appends messages to the ready list, with a wake-up token each. Contract: R4.
-- KEYS    1 ready list, 2 notify list
-- ARGV    payloads, at most 1,000
-- Returns the length of the ready list.
-- Atomic  When the tokens cannot be written the messages are taken back and the error is returned.

--@include _failed.lua

local length = redis.call('RPUSH', KEYS[1], unpack(ARGV))
local tokens = {}
for i = 1, #ARGV do
  tokens[i] = '1'
end
local woken = redis.pcall('RPUSH', KEYS[2], unpack(tokens))
if failed(woken) then
  redis.call('LTRIM', KEYS[1], 0, -1 - #ARGV)
  return woken
end
return length
