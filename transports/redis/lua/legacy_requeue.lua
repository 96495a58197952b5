-- Puts back what consumers without recovery left in flight. For an operator, while every consumer of
-- the queue is stopped. Contract: R79.
-- KEYS    1 ready list, 2 processing list, 3 deadlines zset
-- Returns how many members had no deadline; one whose message is gone is counted and removed.
-- Atomic  All of them in one step.
local endless = redis.call('ZRANGEBYSCORE', KEYS[3], '+inf', '+inf')
redis.call('LLEN', KEYS[1])
redis.call('LLEN', KEYS[2])
for _, member in ipairs(endless) do
  local raw = string.sub(member, 34)
  if redis.call('LREM', KEYS[2], 1, raw) == 1 then
    redis.call('RPUSH', KEYS[1], raw)
  end
  redis.call('ZREM', KEYS[3], member)
end
return #endless
