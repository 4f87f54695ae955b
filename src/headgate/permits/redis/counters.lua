-- Counters: how many each process has inside, in a hash with a field for each of its batches.
-- A value is three numbers: how many, the moment it is over, and how many were over when it was made.
-- KEYS: the hash. ARGV: nonce, verb, limit, ttl, now (empty for the server's), field, what to move.
local hash, verb, limit, ttl, field = KEYS[1], ARGV[2], ARGV[3] + 0, ARGV[4] + 0, ARGV[6]
local counts, ends, lost, total = {}, {}, {}, 0

local function keep(name, count, till, zombies)
  if count > 0 then
    call('HSET', hash, name, pack('<i8i8i8', count, till, zombies))
  else
    call('HDEL', hash, name)
  end
end

local function answer(number)
  return ARGV[1] .. pack('<i8', number)
end

local flat = call('HGETALL', hash)
for place = 1, #flat, 2 do
  local name = flat[place]
  local count, till, zombies = unpack('<i8i8i8', flat[place + 1])
  if till > now then
    counts[name], lost[name], total = count, zombies, total + count
    -- None is longer than the ttl: one that seems so was made before the clock stepped back.
    ends[name] = min(till, now + ttl)
    if till > now + ttl and verb ~= 'inside' then
      keep(name, count, now + ttl, zombies)
    end
  elseif verb ~= 'inside' then
    call('HDEL', hash, name)
  end
end

if verb == 'inside' then
  return answer(total)
end
if verb == 'leave' then
  if not counts[field] then
    return answer(0)
  end
  keep(field, counts[field] - 1, ends[field], lost[field])
  return answer(1)
end
local reply = 0
if verb == 'enter' then
  if total >= limit then
    return answer(0)
  end
  keep(field, (counts[field] or 0) + 1, now + ttl, 0)
  reply = 1
elseif counts[field] then
  -- It was done already, and only the answer was lost.
  return answer(lost[field])
else
  -- Those known to be inside go on in a field of their own; what else is in the old ones ends there.
  local moved, missing = 0, 0
  for name, said in ARGV[7]:gmatch('(%S+) (%d+)') do
    local number, found = said + 0, min(said + 0, counts[name] or 0)
    moved, missing = moved + number, missing + number - found
    if found > 0 then
      keep(name, counts[name] - found, ends[name], lost[name])
    end
  end
  reply = min(missing, max(0, total + missing - limit))
  keep(field, moved, now + ttl, reply)
end
call('PEXPIRE', hash, floor(ttl / 1000) + slack)
return answer(reply)
