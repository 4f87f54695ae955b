-- Leases: those inside by name in a sorted set, each scored by the moment its lease is over.
-- KEYS: the set. ARGV: nonce, verb, limit, ttl, now (empty for the server's), names.
local set, verb, limit, ttl = KEYS[1], ARGV[2], ARGV[3] + 0, ARGV[4] + 0

local function keep(name)
  call('ZADD', set, now + ttl, name)
end

if verb == 'inside' then
  return ARGV[1] .. pack('<i8', call('ZCOUNT', set, string.format('(%.0f', now), '+inf'))
end
if verb == 'leave' then
  return ARGV[1] .. pack('<i8', call('ZREM', set, ARGV[6]))
end
call('ZREMRANGEBYSCORE', set, '-inf', now)
-- No lease is longer than the ttl: one that seems so was given before the clock stepped back.
for _, name in ipairs(call('ZRANGEBYSCORE', set, string.format('(%.0f', now + ttl), '+inf')) do
  keep(name)
end
local free = limit - call('ZCARD', set)
local said = {}
if verb == 'enter' then
  if free > 0 then
    keep(ARGV[6])
  end
  said[1] = free > 0 and '+' or '-'
else
  -- Renewed: '=' still there, '+' there again, since nobody was let in for it, '-' over.
  for name in ARGV[6]:gmatch('%S+') do
    if call('ZSCORE', set, name) then
      keep(name)
      said[#said + 1] = '='
    elseif free > 0 then
      free = free - 1
      keep(name)
      said[#said + 1] = '+'
    else
      said[#said + 1] = '-'
    end
  end
end
call('PEXPIRE', set, floor(ttl / 1000) + slack)
return ARGV[1] .. table.concat(said)
