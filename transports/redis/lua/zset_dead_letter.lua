-- Writes a record to the dead-letter queue and ends the reservation. Contract: R45, R46.
-- KEYS    1 reserved zset, 2 dead-letter list, 3 its notify list
-- ARGV    1 reserved member, 2 record
-- Returns 1, or 0 when the reservation is gone and nothing was written.
-- Atomic  When the record cannot be written the error is returned and the reservation stands as before.
local deadline = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not deadline then
  return 0
end

--@include _failed.lua

redis.call('ZREM', KEYS[1], ARGV[1])
local written = redis.pcall('RPUSH', KEYS[2], ARGV[2])
if failed(written) then
  redis.call('ZADD', KEYS[1], deadline, ARGV[1])
  return written
end
-- A token is a hint: without it the record is found at the next look.
redis.pcall('RPUSH', KEYS[3], '1')
return 1
