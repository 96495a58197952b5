-- Settles what was handled and reserves the next jobs, in one call.
-- KEYS    1 ready list, 2 processing list, 3 deadlines zset of token:raw members
-- ARGV    1 most jobs to reserve (-1 none and no sweep, 0 sweep alone)
--         2 now and 3 deadline, in whole seconds (the deadline may be +inf)
--         4 most members of one sweep (-1 all)
--         5 bytes of bodies, about, but at least the first job
--         6 tokens of 32 characters, one a job, put together
--         7 what is settled, a letter each: `a` acknowledges, `u` releases unchanged, `r` releases with a
--         new value
--         8 and so on: for each its token:raw member, for `r` the value behind it
-- Returns { settles, problem, kinds, raw…, error… }: settles has a letter each, '1' done, '0' the
--         reservation is gone, 'e' failed, for which the text of the error follows at the end; problem
--         is '' or why nothing was reserved; kinds has an 'l' a job.
-- Atomic  A settle that fails changes nothing. Jobs leave the ready list in the same step as they
--         enter the processing list and get their deadline. Contract: R64–R69, R73, R74.
local ready, processing, deadlines = KEYS[1], KEYS[2], KEYS[3]

--@include _failed.lua
--@include _requeue.lua
--@include _head.lua

local function acknowledge(member)
  local removed = redis.pcall('ZREM', deadlines, member)
  if removed ~= 1 then
    return removed
  end
  local ended = redis.pcall('LREM', processing, 1, string.sub(member, 34))
  if failed(ended) then
    -- Without a deadline no sweep would find it again.
    redis.call('ZADD', deadlines, ARGV[2], member)
    return ended
  end
  return 1
end

local settles, errors = '', {}
if ARGV[7] ~= '' then
--@include _settle.lua

  local function run(kind, member, value)
    if kind == 'a' then
      return acknowledge(member)
    end
    local deadline = redis.pcall('ZSCORE', deadlines, member)
    if not deadline then
      return 0
    end
    if failed(deadline) then
      return deadline
    end
    local raw = string.sub(member, 34)
    -- A full server takes further writes of a script that has begun to write.
    redis.call('ZREM', deadlines, member)
    local moved = redis.pcall('RPUSH', ready, kind == 'r' and value or raw)
    if not failed(moved) then
      moved = redis.pcall('LREM', processing, 1, raw)
      if failed(moved) then
        redis.call('RPOP', ready)
      end
    end
    if failed(moved) then
      redis.call('ZADD', deadlines, deadline, member)
      return moved
    end
    return 1
  end

  settles, errors = settle(ARGV[7], 8, { a = 0, u = 0, r = 1 }, run)
end

local reply = { settles, '', '' }
local max = tonumber(ARGV[1])
if max < 0 then
--@include _told.lua
end

-- A member that is no token:raw pair, or whose raw value is not in flight, only loses its deadline.
local function sweep(now, batch)
  local expired = redis.call('ZRANGEBYSCORE', deadlines, '-inf', now, 'LIMIT', 0, batch)
  if #expired == 0 then
    return
  end
  for _, member in ipairs(expired) do
    redis.call('ZREM', deadlines, member)
    if #member >= 34 and string.byte(member, 33) == 58 then
      local moved, refusal = pcall(requeue, ready, processing, string.sub(member, 34))
      if not moved then
        redis.call('ZADD', deadlines, now, member)
        error(refusal)
      end
    end
  end
end

local function reserve()
  sweep(ARGV[2], ARGV[4])
  if max == 0 then
    return
  end
  local jobs, count = head(max, tonumber(ARGV[5]))
  if count == 0 then
    return
  end
  local members = {}
  for i = 1, count do
    members[2 * i - 1] = ARGV[3]
    members[2 * i] = string.sub(ARGV[6], 32 * i - 31, 32 * i) .. ':' .. jobs[i]
  end
  -- The writes that can fail come first, so that a job is never in neither place.
  redis.call('ZADD', deadlines, unpack(members))
  local moved
  if count == 1 then
    moved = redis.pcall('LMOVE', ready, processing, 'LEFT', 'RIGHT')
  else
    moved = redis.pcall('RPUSH', processing, unpack(jobs))
  end
  if failed(moved) then
    for i = 1, count do
      redis.call('ZREM', deadlines, members[2 * i])
    end
    error(moved)
  end
  if count > 1 then
    local trimmed = redis.pcall('LTRIM', ready, count, -1)
    if failed(trimmed) then
      for i = 1, count do
        redis.call('RPOP', processing)
        redis.call('ZREM', deadlines, members[2 * i])
      end
      error(trimmed)
    end
  end
  reply[3] = string.rep('l', count)
  for i = 1, count do
    reply[i + 3] = jobs[i]
  end
end

local done, problem = pcall(reserve)
if not done then
  reply = { settles, failed(problem) or tostring(problem), '' }
end
--@include _told.lua
