-- Rendered from sliding_window.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000

-- Now as the cells see it, and the latest entry, moved back with a clock that went back.
local function rebase(now, part, parts, stamp, last)
  local turns
  if now < stamp - SLACK then
    turns = math.floor((stamp - now) / ((parts + 1) * part)) * ((parts + 1) * part)
    stamp = stamp - turns
    last = last - turns
  end
  return math.max(now, stamp), last
end

-- The total once part `index` is the newest, and the count of the part then sliding out.
local function slide(head, index, parts, total, cells, row)
  if index - head > parts then
    return 0, 0
  end
  while head < index do
    head = head + 1
    total = total - cells[row + 4 + head % (parts + 1)]
  end
  return total, cells[row + 4 + (index + 1) % (parts + 1)]
end

-- The first moment from `time` on at which `cost` fits, the total then, and what is fading.
local function find(time, cost, limit, part, grain, parts, weigh, total, oldest, cells, row)
  local index, grains, need, gone, faded
  index = math.floor(time / part)
  grains = math.floor(part / grain)
  need = total + cost - limit
  gone = index + parts + 1
  while need > 0 and total > 0 and index < gone do
    if weigh > 0 and oldest >= need then
      faded = math.floor((need * grains + oldest - 1) / oldest)
      if faded < grains then
        return math.max(time, index * part + faded * grain), total, oldest
      end
    end
    index = index + 1
    time = index * part
    total = total - oldest
    need = need - oldest
    oldest = cells[row + 4 + (index + 1) % (parts + 1)]
  end
  if total == 0 then
    oldest = 0
  end
  return time, total, oldest
end

-- What is true if `cost` units enter at `enter`, each part of the window being `part` long.
local function step(now, enter, cost, patience, limit, part, grain, parts, weigh, cells, row)
  local here, last, time, total, oldest, entry, rest, fading, wait, grains, room, remaining, reset
  here, last = rebase(now, part, parts, cells[row + 1], cells[row + 2])
  time = math.max(enter, here, last)
  total, oldest = slide(math.floor(last / part), math.floor(time / part), parts, cells[row + 3], cells, row)
  entry, rest, fading = find(time, cost, limit, part, grain, parts, weigh, total, oldest, cells, row)
  wait = enter - now
  if entry > math.max(enter, here) then
    wait = entry - now
  end
  if wait <= patience and cost > 0 then
    last = entry
    time = entry
    total = rest + cost
    oldest = fading
  end
  grains = math.floor(part / grain)
  room = (limit - total) * grains + oldest * math.floor(time % part / grain) * weigh
  remaining = 0
  if room >= 0 then
    remaining = math.floor(room / grains)
  else
    remaining = -math.floor((grains - 1 - room) / grains)
  end
  if last > math.max(enter, here) and remaining > 0 then
    remaining = 0
  end
  reset = math.max(0, last - now)
  if total > 0 then
    reset = (math.floor(last / part) + parts + 1) * part - now
  end
  return wait, remaining, reset, here, last, total
end

-- Write what `step` answered: turn the ring to `entry` and count `cost` there.
local function settle(now, cost, part, parts, here, entry, cells, row)
  local _, last, head, index, total
  _, last = rebase(now, part, parts, cells[row + 1], cells[row + 2])
  head = math.floor(last / part)
  index = math.floor(entry / part)
  total = cells[row + 3]
  if index - head > parts then
    head = index - parts - 1
  end
  while head < index do
    head = head + 1
    total = total - cells[row + 4 + head % (parts + 1)]
    cells[row + 4 + head % (parts + 1)] = 0
  end
  cells[row + 1] = here
  cells[row + 2] = entry
  cells[row + 3] = total + cost
  cells[row + 4 + index % (parts + 1)] = cells[row + 4 + index % (parts + 1)] + cost
end

-- Count `cost` units whatever the total; if negative, take them off the parts up to `due`.
local function charge(now, cost, due, part, parts, deepest, cells, row)
  local here, last, time, head, index, back
  here, last = rebase(now, part, parts, cells[row + 1], cells[row + 2])
  time = math.max(here, last)
  settle(now, 0, part, parts, here, time, cells, row)
  if cost >= 0 then
    settle(now, math.min(cost, math.max(0, deepest - cells[row + 3])), part, parts, here, time, cells, row)
    return
  end
  head = math.floor(time / part)
  index = math.min(head, math.floor(due / part))
  while cost < 0 and index >= head - parts and index >= 0 do
    back = math.min(-cost, cells[row + 4 + index % (parts + 1)])
    cells[row + 4 + index % (parts + 1)] = cells[row + 4 + index % (parts + 1)] - back
    cells[row + 3] = cells[row + 3] - back
    cost = cost + back
    index = index - 1
  end
end

return {step = step, find = find, slide = slide, rebase = rebase, settle = settle, charge = charge}
