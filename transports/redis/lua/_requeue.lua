-- Moves one value from a processing list to the tail of the ready list; nothing when it is not there.
-- It is put before it is taken: a refusal, for the type of a key or for the user's rights, loses nothing.
-- needs: failed
local function requeue(ready, processing, raw)
  if not redis.call('LPOS', processing, raw) then
    return
  end
  redis.call('RPUSH', ready, raw)
  local taken = redis.pcall('LREM', processing, 1, raw)
  if failed(taken) then
    redis.call('RPOP', ready)
    error(taken)
  end
end
