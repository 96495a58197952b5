-- Puts back what consumers without recovery left in flight. For an operator, while every consumer of
-- the queue is stopped. Contract: R79.
-- KEYS    1 ready list, 2 processing list, 3 deadlines zset
-- Returns how many members had no deadline; one whose message is gone is counted and removed.
-- Atomic  All of them in one step.
local endless = redis.call('ZRANGEBYSCORE', KEYS[3], '+inf', '+inf')

--@include _failed.lua
--@include _requeue.lua

for _, member in ipairs(endless) do
  requeue(KEYS[1], KEYS[2], string.sub(member, 34))
  redis.call('ZREM', KEYS[3], member)
end
return #endless
