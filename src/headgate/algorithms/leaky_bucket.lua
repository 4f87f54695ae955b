-- Rendered from leaky_bucket.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000
local FAR = 4503599627370496
local DEEPEST = 2251799813685248

-- What is true if `cost` units pour in at `enter`, `gain` parts leaking each microsecond.
local function step(now, enter, cost, patience, gain, scale, capacity, span, water, stamp)
  local here, begin, passed, level, filled, over, wait, reset, remaining
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
  passed = begin - stamp
  if passed > span then
    passed = span
  end
  level = water - passed * gain
  if level < 0 then
    level = 0
  end
  filled = level + cost * scale
  over = filled - capacity
  wait = enter - now
  if over > 0 then
    wait = begin - now + math.floor((over + gain - 1) / gain)
  end
  if wait > patience then
    filled = level
  end
  reset = begin - now + math.floor((filled + gain - 1) / gain)
  if filled <= capacity then
    remaining = math.floor((capacity - filled) / scale)
  else
    remaining = -math.floor((filled - capacity + scale - 1) / scale)
  end
  return wait, remaining, reset, filled + (begin - here) * gain, here
end

-- What is true once `cost` units poured in, over the brim if need be, or out if negative.
local function charge(now, cost, due, gain, scale, capacity, span, water, stamp)
  local _, level, here, back, relied
  _, _, _, level, here = step(now, now, 0, FAR, gain, scale, capacity, span, water, stamp)
  if cost >= 0 then
    return math.min(level + cost * scale, DEEPEST), here
  end
  back = math.max(0, -cost * scale - math.min(math.max(0, now - due), span) * gain)
  relied = level - capacity - math.min(math.max(0, due - here), span) * gain
  if relied > 0 then
    back = math.max(0, back - relied - gain)
  end
  return math.max(0, level - back), here
end

return {step = step, charge = charge}
