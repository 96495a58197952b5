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
      return string.sub(job, 1, -3) .. string.char(digit + 1) .. '}', 's'
    end
    local digits = string.match(string.sub(job, -28), ',"attempts":([1-9]%d*)}$')
    if digits and #digits < 16 then
      return string.sub(job, 1, -2 - #digits) .. string.format('%.0f}', digits + 1), 's'
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
