-- What stands on the board: its mark, and the rest only if the mark is not the one that is known.
local found = redis.call('HMGET', KEYS[1], 'version', 'form', 'digest')
for number = 1, 3 do
  found[number] = string.sub(found[number] or '', 1, 64)
end
local mark = table.concat(found, ' ') .. ' ' .. redis.call('HSTRLEN', KEYS[1], 'text')
local said = ARGV[1] .. struct.pack('<I4', #mark) .. mark
if mark == ARGV[2] then
  return said
end
local head = struct.pack('<I4', #found[2]) .. found[2] .. struct.pack('<I4', #found[3]) .. found[3]
return said .. head .. string.sub(redis.call('HGET', KEYS[1], 'text') or '', 1, 1048577)
