-- Places: those who hold one by name in a sorted set, each scored by the moment until which it does.
-- KEYS: the set. ARGV: nonce, verb, limit, ttl, now (empty for the server's), name, the longest ttl.
local set, verb, limit, ttl, name = KEYS[1], ARGV[2], ARGV[3] + 0, ARGV[4] + 0, ARGV[6]

local function answer(count)
  return ARGV[1] .. pack('<i8', count)
end

if verb == 'inside' then
  return answer(call('ZCOUNT', set, string.format('(%.0f', now), '+inf'))
end
call('ZREMRANGEBYSCORE', set, '-inf', now)
if verb == 'leave' then
  return answer(call('ZREM', set, name))
end
-- None is held for longer than the longest: one that seems so began before the clock stepped back.
local most = now + ARGV[7]
for _, late in ipairs(call('ZRANGEBYSCORE', set, string.format('(%.0f', most), '+inf')) do
  call('ZADD', set, most, late)
end
if not call('ZSCORE', set, name) and (verb == 'renew' or call('ZCARD', set) >= limit) then
  return answer(0)
end
call('ZADD', set, now + ttl, name)
local last = call('ZRANGE', set, -1, -1, 'WITHSCORES')[2]
call('PEXPIRE', set, floor((last - now) / 1000) + slack)
return answer(call('ZCARD', set))
