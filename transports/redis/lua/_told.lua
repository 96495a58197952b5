-- The reply, with the texts of the settles that failed at its end.
-- needs: reply, errors
for _, text in ipairs(errors) do
  reply[#reply + 1] = text
end
return reply
