-- Runs what is settled, in order.
-- needs: failed
-- `kinds` has a letter each. From `at` on each has a member as its argument, and behind it as many more as
-- `rest` says of its letter. `run` is given the letter, the member and what comes behind it.
-- Returns a letter each ('1', '0', or 'e' for an error), and the texts of the errors.
local function settle(kinds, at, rest, run)
  local results, errors = {}, {}
  for i = 1, #kinds do
    local kind = string.sub(kinds, i, i)
    local result = run(kind, ARGV[at], ARGV[at + 1], ARGV[at + 2])
    if failed(result) then
      errors[#errors + 1] = result.err
      result = 'e'
    end
    results[i] = result
    at = at + 1 + rest[kind]
  end
  return table.concat(results), errors
end
