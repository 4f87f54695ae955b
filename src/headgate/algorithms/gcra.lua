-- Rendered from gcra.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000
local FAR = 4503599627370496
local DEEPEST = 2251799813685248

-- What is true if `cost` cells arrive at `enter`, a cell being `scale` parts of backlog.
local function step(now, enter, cost, patience, gain, scale, capacity, span, stamp, tat, part)
  local here, backlog, filled, over, wait, reset, remaining
  if now < stamp - SLACK then
    tat = tat - (stamp - now)
    stamp = now
  end
  here = now
  if here < stamp then
    here = stamp
  end
  backlog = 0
  if tat >= enter then
    backlog = tat - enter
    if backlog > span then
      backlog = span
    end
    backlog = backlog * gain + part
  end
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
  if filled <= capacity then
    remaining = math.floor((capacity - filled) / scale)
  else
    remaining = -math.floor((filled - capacity + scale - 1) / scale)
  end
  return wait, remaining, reset, here, enter + math.floor(filled / gain), filled % gain
end

-- What is true once `cost` cells are added whatever the backlog, or taken off if negative.
local function charge(now, cost, due, gain, scale, capacity, span, stamp, tat, part)
  local _, here, backlog, filled, back, relied
  _, _, _, here, tat, part = step(now, now, 0, FAR, gain, scale, capacity, span, stamp, tat, part)
  backlog = (tat - now) * gain + part
  if cost >= 0 then
    filled = math.min(backlog + cost * scale, DEEPEST)
    return here, now + math.floor(filled / gain), filled % gain
  end
  back = math.max(0, -cost * scale - math.min(math.max(0, now - due), span) * gain)
  relied = backlog - capacity - math.min(math.max(0, due - now), span) * gain
  if relied > 0 then
    back = math.max(0, back - relied - gain)
  end
  filled = math.max(0, backlog - back)
  return here, now + math.floor(filled / gain), filled % gain
end

return {step = step, charge = charge}
