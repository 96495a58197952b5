-- The text of an error that pcall gave, or false. A script is not rolled back, so every write that
-- can fail behind another one is made with pcall and undone.
local function failed(reply)
  return type(reply) == 'table' and reply.err or false
end
