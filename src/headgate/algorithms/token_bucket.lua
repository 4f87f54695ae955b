-- Rendered from token_bucket.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000
local DEEPEST = 2251799813685248

-- Now as the cells see it, the level at `enter`, and when that level was last true.
local function refill(now, enter, tick, gain, capacity, span, level, stamp)
  local here, begin, ticks, full
  if now < stamp - SLACK then
    stamp = now
  end
  here = now
  if here < stamp then
    here = stamp
  end
  begin = enter
  if begin < here then
    begin = here
  end
  ticks = begin - stamp
  if tick > 1 then
    ticks = math.floor(ticks / tick)
  end
  if ticks > span then
    ticks = span
  end
  full = level + ticks * gain
  if full >= capacity then
    return here, capacity, begin
  end
  return here, full, stamp + ticks * tick
end

-- What is true if `cost` tokens are taken at `enter`, every `tick` bringing `gain` parts.
local function step(now, enter, cost, patience, tick, gain, scale, capacity, span, borrow, level, stamp)
  local here, full, mark, left, room, wait, reset, remaining, ticks
  here, full, mark = refill(now, enter, tick, gain, capacity, span, level, stamp)
  left = full - cost * scale
  room = left
  if borrow > 0 then
    room = full
  end
  wait = enter - now
  if room < 0 then
    wait = mark + math.floor((gain - 1 - room) / gain) * tick - now
  end
  if wait > patience then
    left = full
  end
  reset = mark + math.floor((capacity - left + gain - 1) / gain) * tick - now
  remaining = 0
  if left >= 0 then
    remaining = math.floor(left / scale)
  else
    remaining = -math.floor((scale - 1 - left) / scale)
  end
  if mark > here then
    ticks = math.floor((mark - here + tick - 1) / tick)
    left = left - ticks * gain
    mark = mark - ticks * tick
  end
  return wait, remaining, reset, left, mark
end

-- What is true once `cost` tokens are spent whatever the level, or given back if negative.
local function charge(now, cost, due, tick, gain, scale, capacity, span, borrow, level, stamp)
  local _, full, mark, back, relied
  _, full, mark = refill(now, now, tick, gain, capacity, span, level, stamp)
  if cost >= 0 then
    return math.max(full - cost * scale, -DEEPEST), mark
  end
  back = -cost * scale
  relied = -full - math.min(math.floor(math.max(0, due - mark) / tick), span) * gain
  if borrow > 0 then
    relied = relied - back
  end
  if relied > 0 then
    back = math.max(0, back - relied - gain)
  end
  return math.min(capacity, full + back), mark
end

return {step = step, charge = charge, refill = refill}
