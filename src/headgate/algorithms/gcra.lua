-- Rendered from gcra.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000
local DEEPEST = 2251799813685248

-- Now as the cells see it, and the parts of backlog still there at `enter`.
local function drain(now, enter, gain, span, stamp, tat, part)
  local here, ahead
  if now < stamp - SLACK then
    tat = tat - (stamp - now)
    stamp = now
  end
  here = now
  if here < stamp then
    here = stamp
  end
  if tat < enter then
    return here, 0
  end
  ahead = tat - enter
  if ahead > span then
    ahead = span
  end
  return here, ahead * gain + part
end

-- What is true if `cost` cells arrive at `enter`, a cell being `scale` parts of backlog.
local function step(now, enter, cost, patience, gain, scale, capacity, span, stamp, tat, part)
  local here, backlog, filled, over, wait, reset, remaining
  here, backlog = drain(now, enter, gain, span, stamp, tat, part)
  filled = backlog + cost * scale
  over = filled - capacity
  wait = enter - now
  if over > 0 then
    wait = wait + math.floor((over + gain - 1) / gain)
  end
  if wait > patience then
    filled = backlog
  end
  reset = enter - now + math.floor((filled + gain - 1) / gain)
  remaining = 0
  if filled <= capacity then
    remaining = math.floor((capacity - filled) / scale)
  else
    remaining = -math.floor((filled - capacity + scale - 1) / scale)
  end
  return wait, remaining, reset, here, enter + math.floor(filled / gain), filled % gain
end

-- What is true once `cost` cells are added whatever the backlog, or taken off if negative.
local function charge(now, cost, due, gain, scale, capacity, span, stamp, tat, part)
  local here, backlog, filled, back, relied
  here, backlog = drain(now, now, gain, span, stamp, tat, part)
  if cost >= 0 then
    filled = math.min(backlog + cost * scale, DEEPEST)
    return here, now + math.floor(filled / gain), filled % gain
  end
  back = -cost * scale
  relied = backlog - capacity - math.min(math.max(0, due - now), span) * gain
  if relied > 0 then
    back = math.max(0, back - relied - gain)
  end
  filled = math.max(0, backlog - back)
  return here, now + math.floor(filled / gain), filled % gain
end

return {step = step, charge = charge, drain = drain}
