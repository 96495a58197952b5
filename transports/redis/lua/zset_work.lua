-- Settles what was handled and reserves the next jobs, in one call.
-- KEYS    1 ready list, 2 reserved zset, 3 notify list, 4 delayed zset, 5 a key that is there only while
--         the script runs
-- ARGV    1 most jobs to reserve (-1 none and no migration, 0 migration alone)
--         2 now and 3 deadline, in whole seconds (the deadline may be +inf)
--         4 most members of one migration (-1 all)
--         5 '1' when expired reservations are taken back
--         6 bytes of bodies, about, but at least the first job
--         7 'splice' or 'cjson': how the reserved member is made
--         8 what is settled, a letter each: `a` acknowledges, `r` releases
--         9 and so on: for `a` the member, for `r` the member, a score and a payload
-- Returns { settles, problem, kinds, body…, error… }: settles has a letter each, '1' done, '0' the
--         reservation is gone, 'e' failed, for which the text of the error follows at the end; problem
--         is '' or why nothing was reserved; kinds has a letter a job: 's' one body, the member; 'c' two,
--         the job and the member; 'p' one, both of them.
-- Atomic  A settle that fails changes nothing. Jobs leave the ready list in the same step as they
--         enter the reserved set. Contract: R10–R16, R40, R41.
local ready, reserved, notify = KEYS[1], KEYS[2], KEYS[3]
local delayed, scratch = KEYS[4], KEYS[5]

--@include _failed.lua
--@include _migrate.lua
--@include _raise.lua

local settles, errors = '', {}
if ARGV[8] ~= '' then
--@include _settle.lua

  local function run(kind, member, score, payload)
    if kind == 'a' then
      return redis.pcall('ZREM', reserved, member)
    end
    local deadline = redis.pcall('ZSCORE', reserved, member)
    if not deadline then
      return 0
    end
    if failed(deadline) then
      return deadline
    end
    redis.call('ZREM', reserved, member)
    local added = redis.pcall('ZADD', delayed, score, payload)
    if failed(added) then
      redis.call('ZADD', reserved, deadline, member)
      return added
    end
    return 1
  end

  settles, errors = settle(ARGV[8], 9, { a = 0, r = 2 }, run)
end

local reply = { settles, '', '' }
local max = tonumber(ARGV[1])
if max < 0 then
--@include _told.lua
end

local lossless = ARGV[7] == 'splice'

-- Of the writes the one that can fail comes first, so that a job is never in neither place.
local function reserve()
  migrate(delayed, ARGV[2], ARGV[4])
  if ARGV[5] == '1' then
    migrate(reserved, ARGV[2], ARGV[4])
  end
  if max == 1 then
    local job = redis.call('LINDEX', ready, 0)
    if job then
      local member, kind = raise(job, lossless)
      redis.call('ZADD', reserved, ARGV[3], member)
      -- LPOP would copy the job once more.
      local taken = redis.pcall('LTRIM', ready, 1, -1)
      if failed(taken) then
        redis.call('ZREM', reserved, member)
        error(taken)
      end
      redis.pcall('LPOP', notify)
      reply[3] = kind
      reply[4] = kind == 'c' and job or member
      reply[5] = kind == 'c' and member or nil
    end
    return
  end
  if max == 0 then
    return
  end
--@include _head.lua
  local jobs, count = head(max, tonumber(ARGV[6]))
  if count == 0 then
    return
  end
  local kinds, members = {}, {}
  for i = 1, count do
    local job = jobs[i]
    local member, kind = raise(job, lossless)
    kinds[i] = kind
    members[2 * i - 1] = ARGV[3]
    members[2 * i] = member
    if kind == 'c' then
      reply[#reply + 1] = job
    end
    reply[#reply + 1] = member
  end
  redis.call('ZADD', reserved, unpack(members))
  local taken = redis.pcall('LTRIM', ready, count, -1)
  if failed(taken) then
    for i = 1, count do
      redis.call('ZREM', reserved, members[2 * i])
    end
    error(taken)
  end
  redis.pcall('LTRIM', notify, count, -1)
  reply[3] = table.concat(kinds)
end

local done, problem = pcall(reserve)
if not done then
  reply = { settles, failed(problem) or tostring(problem), '' }
end
--@include _told.lua
