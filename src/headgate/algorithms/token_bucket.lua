-- Rendered from token_bucket.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000
local FAR = 4503599627370496

-- The cells of a bucket never used.
local function fresh(now, initial, scale)
  return initial * scale, now
end

-- What is true if `cost` tokens are taken at `enter`, every `tick` bringing `gain` parts.
local function step(now, enter, cost, patience, tick, gain, scale, capacity, span, borrow, level, stamp)
  local here, mark, ticks, full, left, lag, wait, room, reset, remaining
  here = now
  mark = enter
  if stamp > now then
    if stamp > now + SLACK then
      stamp = now
    end
    here = stamp
    mark = math.max(enter, here)
  end
  ticks = mark - stamp
  if tick > 1 then
    ticks = math.floor(ticks / tick)
  end
  if ticks > span then
    ticks = span
  end
  full = level + ticks * gain
  if full >= capacity then
    full = capacity
  elseif tick > 1 then
    mark = stamp + ticks * tick
  end
  left = full - cost * scale
  lag = mark - now
  wait = enter - now
  if left < 0 then
    room = left
    if borrow > 0 then
      room = full
    end
    if room < 0 then
      ticks = math.floor((gain - 1 - room) / gain)
      wait = ticks * tick + lag
      if tick > 1 and cost > 0 then
        left = left - math.max(0, full + ticks * gain - capacity)
      end
    end
  end
  if wait > patience then
    left = full
  end
  reset = math.floor((capacity - left + gain - 1) / gain) * tick + lag
  if left >= 0 then
    remaining = math.floor(left / scale)
  else
    remaining = -math.floor((scale - 1 - left) / scale)
  end
  if lag > 0 and mark > here then
    ticks = math.floor((mark - here + tick - 1) / tick)
    left = left - ticks * gain
    mark = mark - ticks * tick
  end
  return wait, remaining, reset, left, mark
end

-- What is true once `cost` tokens are spent whatever the level, or given back if negative.
local function charge(now, cost, due, tick, gain, scale, capacity, span, borrow, level, stamp)
  local _, full, mark, late, back, relied
  _, _, _, full, mark = step(now, now, 0, FAR, tick, gain, scale, capacity, span, borrow, level, stamp)
  if cost >= 0 then
    return math.max(full - cost * scale, capacity - span * gain), mark
  end
  late = math.min(math.floor((math.max(0, now - due) + tick - 1) / tick), span)
  back = math.max(0, -cost * scale - late * gain)
  relied = -full - math.min(math.floor(math.max(0, due - mark) / tick), span) * gain
  if borrow > 0 then
    relied = relied - back
  end
  if relied > 0 then
    back = math.max(0, back - relied - gain)
  end
  return math.min(capacity, full + back), mark
end

return {step = step, charge = charge, fresh = fresh}
