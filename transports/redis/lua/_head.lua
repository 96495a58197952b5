-- The first jobs of the ready list, still in place: at most `max` of them, and no more than `cap`
-- bytes beyond the first one. Pages, that grow while jobs are small, keep a list of large jobs from
-- being read for nothing.
-- needs: ready
local function head(max, cap)
  local jobs, count, bytes, size = {}, 0, 0, 16
  repeat
    local page = redis.call('LRANGE', ready, count, math.min(count + size, max) - 1)
    local got = #page
    for i = 1, got do
      local job = page[i]
      bytes = bytes + #job
      if count > 0 and bytes > cap then
        return jobs, count
      end
      count = count + 1
      jobs[count] = job
    end
    local full = got == size
    size = bytes * 4 < cap and 64 or 16
  until not full or count >= max or bytes >= cap
  return jobs, count
end
