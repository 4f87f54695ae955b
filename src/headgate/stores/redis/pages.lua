-- The shape of a large state, such as a long log: of one string, only the cells that are asked for.
local seen, changed, written, known = {}, {}, UNSEEN, false
local head = redis.pcall('GETRANGE', KEYS[1], 0, 8)
if #head == 9 and head:byte() == 1 then
  local version
  version, written = unpack('<Bi8', head)
  known = true
elseif type(head) ~= 'string' or #head > 0 then
  call('DEL', KEYS[1])
end
local cells = setmetatable({}, {
  __index = function(_, cell)
    local value = changed[cell] or seen[cell]
    if not value then
      local place = 8 * cell - 15
      local text = known and call('GETRANGE', KEYS[1], place, place + 7) or ''
      value = #text == 8 and unpack('<i8', text) or 0
      -- Not ours: no number of ours is so large.
      value = abs(value) < 9007199254740992 and value or 0
      seen[cell] = value
    end
    return value
  end,
  __newindex = function(_, cell, value)
    changed[cell] = value
  end,
})
if known and not sound(cells) then
  call('DEL', KEYS[1])
  seen, written, known = {}, UNSEEN, false
end
local function save(after)
  call('SETRANGE', KEYS[1], 0, pack('<Bi8', 1, now))
  for cell, value in pairs(changed) do
    call('SETRANGE', KEYS[1], 8 * cell - 15, pack('<i8', value))
    seen[cell] = value
  end
  changed = {}
  known = true
  call('PEXPIRE', KEYS[1], floor(after / 1000) + slack)
end
local function whole()
  return ''
end
