-- Takes a list of settles apart and runs each, in order. One string for all of them costs a client much
-- less than an argument each.
-- needs: failed
-- `run` is given a kind, a member, a score and a payload.
-- Returns a letter each ('1', '0', or 'e' for an error), and the texts of the errors.
local function settle(plan, pieces, run)
  local results, errors = {}, {}
  local function note(result)
    if failed(result) then
      errors[#errors + 1] = result.err
      result = 'e'
    end
    results[#results + 1] = result
  end
  local at = 1
  for kind, first, score, second in string.gmatch(plan, '(%a)(%d+):?(%d*):?(%d*)') do
    local after = at + first
    local member = string.sub(pieces, at, after - 1)
    at = after
    local payload = nil
    if kind == 'r' then
      after = at + second
      payload = string.sub(pieces, at, after - 1)
      at = after
    end
    note(run(kind, member, score, payload))
  end
  return table.concat(results), errors
end
