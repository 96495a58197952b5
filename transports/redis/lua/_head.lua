-- The first jobs of the ready list, still in place: at most `max` of them, and about `cap` bytes, but
-- always the first one. The first job says how many may fit, so that a list of large ones is
-- not read for nothing.
-- needs: ready
local function head(max, cap)
  local jobs = redis.call('LRANGE', ready, 0, 0)
  if not jobs[1] or max == 1 then
    return jobs, #jobs
  end
  local count, bytes = 1, #jobs[1]
  while count < max and bytes < cap do
    local room = math.floor((cap - bytes) * count / math.max(bytes, 1)) + 1
    local size = math.min(max - count, room, 64)
    local page = redis.call('LRANGE', ready, count, count + size - 1)
    local got = #page
    for i = 1, got do
      local job = page[i]
      bytes = bytes + #job
      if bytes > cap * 1.25 then
        return jobs, count
      end
      count = count + 1
      jobs[count] = job
    end
    if got < size then
      break
    end
  end
  return jobs, count
end
