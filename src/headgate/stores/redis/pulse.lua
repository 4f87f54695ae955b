-- A sign of life: who gave one lately, and how many of them there are.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 15000000)
redis.call('PEXPIRE', KEYS[1], 60000)
return ARGV[1] .. struct.pack('<i8', redis.call('ZCARD', KEYS[1]))
