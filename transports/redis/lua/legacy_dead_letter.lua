-- Writes a record to the dead-letter queue and ends the reservation. Contract: R75, R76.
-- KEYS    1 processing list, 2 deadlines zset, 3 dead-letter list
-- ARGV    1 token:raw member, 2 record
-- Returns 1, or 0 when the reservation is gone and nothing was written.
-- Atomic  When the record cannot be written the error is returned and the reservation stands as before.
local deadline = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not deadline then
  return 0
end

--@include _failed.lua

-- A full server takes further writes of a script that has begun to write.
redis.call('ZREM', KEYS[2], ARGV[1])
local moved = redis.pcall('RPUSH', KEYS[3], ARGV[2])
if not failed(moved) then
  moved = redis.pcall('LREM', KEYS[1], 1, string.sub(ARGV[1], 34))
  if failed(moved) then
    redis.call('RPOP', KEYS[3])
  end
end
if failed(moved) then
  redis.call('ZADD', KEYS[2], deadline, ARGV[1])
  return moved
end
return 1
