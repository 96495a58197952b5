-- Moves the due members of a sorted set to the ready list, one wake-up token each. Contract: R12.
-- needs: ready, notify
local function migrate(from, now, batch)
  -- Mostly nothing is due, and this is the cheaper question.
  if redis.call('ZCOUNT', from, '-inf', now) == 0 then
    return
  end
  local due = redis.call('ZRANGEBYSCORE', from, '-inf', now, 'LIMIT', 0, batch)
  local count = #due
  -- A key of the wrong type raises here, before anything is removed.
  redis.call('LLEN', ready)
  redis.call('LLEN', notify)
  redis.call('ZREMRANGEBYRANK', from, 0, count - 1)
  for first = 1, count, 100 do
    local last = math.min(first + 99, count)
    local tokens = {}
    for i = 1, last - first + 1 do
      tokens[i] = '1'
    end
    redis.call('RPUSH', ready, unpack(due, first, last))
    redis.call('RPUSH', notify, unpack(tokens))
  end
end
