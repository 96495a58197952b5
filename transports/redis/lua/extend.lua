-- Moves the deadline of a reservation forward, never back.
-- KEYS    1 zset of reservations: the reserved set, or the deadlines of the processing list
-- ARGV    1 member, 2 new deadline in whole seconds
-- Returns the deadline that holds now, as text, or 0 when the reservation is gone.
-- Atomic  A reservation that is gone is not made again.
local deadline = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not deadline then
  return 0
end
if tonumber(deadline) >= tonumber(ARGV[2]) then
  return deadline
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return ARGV[2]
