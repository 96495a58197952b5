-- Counts lists and sorted sets, as they are at one moment.
-- KEYS    any lists and sorted sets; one that does not exist counts 0
-- Returns a count each.
-- Atomic  Reads only.
local counts = {}
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  counts[i] = kind == 'none' and 0 or redis.call(kind == 'zset' and 'ZCARD' or 'LLEN', key)
end
return counts
