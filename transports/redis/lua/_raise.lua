-- Length of a job, in bytes, from which its count is raised in a key and not in Lua.
local LARGE = 2048

-- The job with its last bytes exchanged: the first `keep` stay. To Lua every string that is made costs a
-- look at each of its bytes, so it makes this one alone: no string of what stays.
-- A large one is put together in a key that is gone before the script ends, which no replica and no
-- file hears of; where that key is in use, or may not be used, Lua does it.
-- needs: scratch
local function exchanged(job, keep, rest)
  if keep < LARGE then
    return struct.pack('c' .. keep .. 'c0', job, rest)
  end
  local made, member = false, nil
  pcall(function()
    redis.set_repl(redis.REPL_NONE)
    made = redis.call('SET', scratch, job, 'NX')
    if made then
      redis.call('SETRANGE', scratch, keep, rest)
      member = redis.call('GETDEL', scratch)
    end
  end)
  if made and not member then
    -- The user may set it, and not take it away.
    redis.pcall('SET', scratch, '', 'PX', 1)
  end
  pcall(redis.set_repl, redis.REPL_ALL)
  return member or string.sub(job, 1, keep) .. rest
end

-- Counts a delivery in the job. Contract: R15, R36.
-- A body that ends canonically gets its last digits raised and keeps every other byte, which cjson
-- cannot do; a comma before the name shows that the quote opens it. Every other body is decoded and
-- encoded under protection, and what cjson refuses stays as it is.
-- The most common end, a count of one digit, is looked for first.
-- Returns the member and how it was made: 's' spliced, 'c' by cjson, 'p' not at all.
local function raise(job, lossless)
  if lossless then
    local digit = string.byte(job, -2)
    if digit and digit >= 48 and digit < 57 and string.sub(job, -14, -3) == ',"attempts":'
      and string.byte(job, -1) == 125
    then
      return exchanged(job, #job - 2, string.char(digit + 1, 125)), 's'
    end
    local digits = string.match(string.sub(job, -28), ',"attempts":([1-9]%d*)}$')
    if digits and #digits < 16 then
      return exchanged(job, #job - 1 - #digits, string.format('%.0f}', digits + 1)), 's'
    end
  end
  local done, member = pcall(function()
    local decoded = cjson.decode(job)
    if type(decoded.attempts) ~= 'number' then
      error('attempts is no number')
    end
    decoded.attempts = decoded.attempts + 1
    return cjson.encode(decoded)
  end)
  if done and member ~= job then
    return member, 'c'
  end
  return job, 'p'
end
