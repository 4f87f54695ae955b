-- Rendered from fixed_window.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000

-- The window that `now` is in, when it started, and what is used of it and those after it.
local function roll(now, limit, length, unit, first, begin, window, count)
  local here, start, passed, used
  here = first + math.floor(math.max(0, now - begin) / unit)
  if window > here then
    start = begin + (window - first) * unit
    if start - now <= SLACK then
      return window, start, count
    end
    return here, begin + (here - first) * unit, count
  end
  passed = math.min(math.floor((here - window) * unit / length), math.floor(count / limit) + 1)
  used = math.max(0, count - passed * limit)
  if used == 0 then
    window = here
  else
    window = window + math.floor(passed * length / unit)
  end
  return window, begin + (window - first) * unit, used
end

-- What is true if `cost` units enter at `enter`, `limit` of them fitting into one window.
local function step(now, enter, cost, patience, limit, length, unit, first, begin, window, count)
  local start, used, taken, ahead, fill, wait, reset
  window, start, used = roll(now, limit, length, unit, first, begin, window, count)
  taken = used
  if enter >= start + length then
    taken = math.max(taken, math.floor((enter - start) / length) * limit)
  end
  ahead = math.floor(math.max(0, taken - 1) / limit)
  fill = taken - ahead * limit
  if fill + cost > limit then
    ahead = ahead + 1
    fill = 0
  end
  wait = enter - now
  if ahead > 0 then
    wait = math.max(enter, start + ahead * length) - now
  end
  if wait <= patience then
    used = ahead * limit + fill + cost
  end
  reset = 0
  if used > 0 then
    reset = start + math.floor((used + limit - 1) / limit) * length - now
  end
  return wait, limit - used, reset, window, used
end

-- What is true once `cost` units are counted whatever the count, or given back if negative.
local function charge(now, cost, due, limit, length, unit, first, begin, deepest, window, count)
  local start, used
  window, start, used = roll(now, limit, length, unit, first, begin, window, count)
  if cost >= 0 then
    return window, math.min(used + cost, deepest)
  end
  if due < start or start + math.floor(math.max(0, used - 1) / limit) * length > due then
    return window, used
  end
  return window, math.max(0, used + cost)
end

return {step = step, charge = charge, roll = roll}
