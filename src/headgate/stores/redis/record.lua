-- The shape of a small state: one string, read at once and written at once.
local cells, written, known = {}, 0, false
local raw = redis.pcall('GET', KEYS[1])
if raw and #raw == SIZE and raw:byte() == 1 then
  cells = {unpack(FORMAT, raw)}
  written, known = cells[2], cells[2] >= 0
  for cell = 3, WIDTH do
    known = known and abs(cells[cell]) < 9007199254740992
  end
end
if not (known and sound(cells)) then
  known = false
  -- Never seen, or not ours: no number of ours is so large.
  raw, written = '', UNSEEN
  for cell = 3, WIDTH do
    cells[cell] = 0
  end
end
local function save(after)
  cells[1], cells[2] = 1, now
  raw = pack(FORMAT, spread(cells, 1, WIDTH))
  call('SET', KEYS[1], raw, 'PX', floor(after / 1000) + slack)
end
local function whole()
  return raw
end
