-- Puts back what consumers without recovery left reserved. For an operator, while every consumer of
-- the queue is stopped. Contract: R16.
-- KEYS    1 ready list, 2 reserved zset, 3 notify list
-- Returns how many members had no deadline.
-- Atomic  All of them in one step.
local endless = redis.call('ZRANGEBYSCORE', KEYS[2], '+inf', '+inf')
redis.call('LLEN', KEYS[1])
redis.call('LLEN', KEYS[3])
for _, member in ipairs(endless) do
  redis.call('ZREM', KEYS[2], member)
  redis.call('RPUSH', KEYS[1], member)
  redis.call('RPUSH', KEYS[3], '1')
end
return #endless
