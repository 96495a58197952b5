-- Moves the due members of a sorted set to the ready list, one wake-up token each. Contract: R12.
-- needs: ready, notify, failed
local function migrate(from, now, batch)
  -- Mostly nothing is due, and this is the cheaper question.
  if redis.call('ZCOUNT', from, '-inf', now) == 0 then
    return
  end
  local due = redis.call('ZRANGEBYSCORE', from, '-inf', now, 'LIMIT', 0, batch)
  local count = #due
  -- What may be refused, for the type of a key or for the user's rights, comes before the removal: a
  -- script is not rolled back. Tokens are hints, so those may be too many.
  for first = 1, count, 100 do
    local last = math.min(first + 99, count)
    local tokens = {}
    for i = 1, last - first + 1 do
      tokens[i] = '1'
    end
    redis.call('RPUSH', notify, unpack(tokens))
    redis.call('RPUSH', ready, unpack(due, first, last))
  end
  local removed = redis.pcall('ZREMRANGEBYRANK', from, 0, count - 1)
  if failed(removed) then
    redis.call('LTRIM', ready, 0, -count - 1)
    error(removed)
  end
end
