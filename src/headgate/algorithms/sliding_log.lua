-- Rendered from sliding_log.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000
local FAR = 2251799813685248

-- How many of the ring's moments are not after `time`.
local function count(time, head, limit, cells, row)
  local low, high, middle
  low = 0
  high = limit
  while low < high do
    middle = math.floor((low + high) / 2)
    if cells[row + 3 + (head + middle) % limit] <= time then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- What is true if `cost` units enter at `enter`; each leaves `length` later.
local function step(now, enter, cost, patience, limit, length, cells, row)
  local stamp, head, shift, here, newest, time, entry, wait, free, leaves
  stamp = cells[row + 1]
  head = cells[row + 2]
  shift = 0
  if now < stamp - SLACK then
    shift = stamp - now
  end
  here = math.max(now, stamp - shift)
  newest = cells[row + 3 + (head + limit - 1) % limit] - shift
  time = math.max(enter, here, newest - length)
  entry = time
  if cost > 0 then
    entry = math.max(time, cells[row + 3 + (head + cost - 1) % limit] - shift)
  end
  wait = enter - now
  if entry > math.max(enter, here) then
    wait = entry - now
  end
  if wait > patience then
    free = 0
    if newest - length <= math.max(enter, here) then
      free = count(time + shift, head, limit, cells, row)
    end
    return wait, free, math.max(0, newest - now), here, head, 0
  end
  free = 0
  if entry <= math.max(enter, here) then
    free = count(entry + shift, head, limit, cells, row) - cost
  end
  leaves = newest
  if cost > 0 then
    leaves = entry + length
  end
  return wait, free, math.max(0, leaves - now), here, (head + cost) % limit, leaves
end

-- Move every moment back with a clock that went back by more than we doubt it.
local function rebase(now, limit, cells, row)
  local shift, slot
  shift = cells[row + 1] - now
  if shift <= SLACK then
    return
  end
  slot = 0
  while slot < limit do
    cells[row + 3 + slot] = math.max(0, cells[row + 3 + slot] - shift)
    slot = slot + 1
  end
  cells[row + 1] = now
end

-- Log `cost` units whatever the count; if negative, strike out the newest up to `due`.
local function charge(now, cost, due, limit, length, cells, row)
  local here, head, newest, gone
  rebase(now, limit, cells, row)
  here = math.max(now, cells[row + 1])
  head = cells[row + 2]
  newest = cells[row + 3 + (head + limit - 1) % limit]
  while cost > 0 and newest < here + FAR do
    newest = math.max(here, newest - length, math.min(cells[row + 3 + head], due)) + length
    cells[row + 3 + head] = newest
    head = (head + 1) % limit
    cost = cost - 1
  end
  while cost < 0 and newest > here and newest - length <= due do
    gone = math.min(newest - length, cells[row + 3 + head])
    head = (head + limit - 1) % limit
    cells[row + 3 + head] = gone
    cost = cost + 1
    newest = cells[row + 3 + (head + limit - 1) % limit]
  end
  cells[row + 1] = here
  cells[row + 2] = head
end

-- Write what `step` answered: the oldest `cost` units make place for those that leave then.
local function settle(now, cost, limit, here, leaves, cells, row)
  local head
  rebase(now, limit, cells, row)
  head = cells[row + 2]
  while cost > 0 do
    cells[row + 3 + head] = leaves
    head = (head + 1) % limit
    cost = cost - 1
  end
  cells[row + 1] = here
  cells[row + 2] = head
end

return {step = step, count = count, settle = settle, rebase = rebase, charge = charge}
