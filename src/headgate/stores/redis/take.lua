-- The short way: take, under one limit that has no ring, no penalty and no calendar.
-- KEYS: the record. ARGV: nonce, cost, and if they are told: patience (0), now (the server's time if it
-- is empty, too), and how often (once).
local cost, patience, now, slack = ARGV[2] + 0, (ARGV[3] or 0) + 0, ARGV[4], 3600000
if now and now ~= '' then
  now = now + 0
else
  local time = call('TIME')
  now, slack = time[1] * 1000000 + time[2], 1001
end
local raw = redis.pcall('GET', KEYS[1])
local version, written, {cells}
if raw and #raw == {size} and raw:byte() == 1 then
  version, written, {cells} = unpack('{format}', raw)
end
if not version or written < 0 or {beyond} then
  -- Never seen, or not ours: no number of ours is so large.
  written, {cells} = {unseen}, {fresh}
end
local said, lasts = ARGV[1], nil
for _ = 1, (ARGV[5] or 1) + 0 do
  if cost > {most} then
    local _, remaining, reset = {look_nothing}
    said = said .. pack('<Bi8i8i8', 32, 0, remaining, reset)
  else
    local wait, remaining, reset, {kept} = {look_cost}
    local code = 16
    if wait <= patience then
      code, lasts, {cells} = 0, reset, {kept}
    end
    said = said .. pack('<Bi8i8i8', code, wait, remaining, reset)
  end
end
if not lasts and cost <= {most} and written > now + 1000000 then
  -- The clock went back, or a key that does not open full is new: say what is true as of now, or a
  -- key that is only ever refused would stay there.
  local _, _, after, {kept} = {look_nothing}
  lasts, {cells} = after, {kept}
end
if lasts then
  call('SET', KEYS[1], pack('{format}', 1, now, {cells}), 'PX', floor((lasts + {lasting}) / 1000) + slack)
end
return said
