-- Puts back what consumers without recovery left reserved. For an operator, while every consumer of
-- the queue is stopped. Contract: R16.
-- KEYS    1 ready list, 2 reserved zset, 3 notify list
-- Returns how many members had no deadline.
-- Atomic  All of them in one step.
local endless = redis.call('ZRANGEBYSCORE', KEYS[2], '+inf', '+inf')
for _, member in ipairs(endless) do
  -- Put before it is taken: a refusal of any of these loses nothing.
  redis.call('RPUSH', KEYS[3], '1')
  redis.call('RPUSH', KEYS[1], member)
  redis.call('ZREM', KEYS[2], member)
end
return #endless
