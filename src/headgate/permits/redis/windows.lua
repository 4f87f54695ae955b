-- Two windows: one more in the current window for who enters, one less for who leaves, in the window
-- where it is counted: that is one less in the current, and at once its move from there to here.
-- How many are inside is the sum of this window and the one before; the next is read as well, in case
-- the clock has stepped back. A value is two numbers: how many, and when the window was first written.
-- KEYS: what all of them begin with. ARGV: nonce, verb, limit, ttl, now (empty for the server's), and
-- a window and its birth, or the name of a move and what to move.
local head, verb, limit, length = KEYS[1] .. ':', ARGV[2], ARGV[3] + 0, floor(ARGV[4] / 2)
local current = floor(now / length)
local counts, births, total = {}, {}, 0
local lasting = floor(3 * length / 1000) + slack

local function place(window)
  return head .. string.format('%.0f', window)
end

local read = call('MGET', place(current - 1), place(current), place(current + 1))
for number = 1, 3 do
  if read[number] then
    local window = current - 2 + number
    counts[window], births[window] = unpack('<i8i8', read[number])
    total = total + counts[window]
  end
end

local function add(window, number)
  births[window] = births[window] or now
  counts[window] = (counts[window] or 0) + number
  call('SET', place(window), pack('<i8i8', counts[window], births[window]), 'PX', lasting)
end

local function answer(number)
  return ARGV[1] .. pack('<i8i8i8', number, current, births[current] or 0)
end

if verb == 'inside' then
  return answer(total)
end
if verb == 'enter' then
  if total >= limit then
    return answer(0)
  end
  add(current, 1)
  return answer(1)
end
if verb == 'leave' then
  -- Who is no longer counted is not counted off.
  local from = ARGV[6] + 0
  if births[from] ~= ARGV[7] + 0 then
    return answer(0)
  end
  add(from, -1)
  return answer(1)
end
local done = head .. ARGV[6]
local before = call('GET', done)
if before then
  -- It was done already, and only the answer was lost.
  return ARGV[1] .. before
end
local missing = 0
for window, birth, said in ARGV[7]:gmatch('(%d+) (%d+) (%d+)') do
  local from, number = window + 0, said + 0
  local known = births[from] == birth + 0
  if not known then
    missing = missing + number
    total = total + number
  elseif from ~= current then
    add(from, -number)
  end
  if not known or from ~= current then
    add(current, number)
  end
end
local reply = answer(min(missing, max(0, total - limit)))
call('SET', done, reply:sub(9), 'PX', lasting)
return reply
