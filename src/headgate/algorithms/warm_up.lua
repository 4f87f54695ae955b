-- Rendered from warm_up.py by tools/twins.py; edit that file, not this one.

local SLACK = 1000000
local DEEPEST = 2251799813685248

-- The cells of a key that starts cold.
local function fresh(now, cold)
  return cold, 0, now
end

-- Now as the cells see it, when the request enters, and what is stored and owed then.
local function pay(now, enter, gain, cold, span, stored, owed, stamp)
  local here, begin, paid
  if now < stamp - SLACK then
    stamp = now
  end
  here = math.max(now, stamp)
  begin = math.max(enter, here)
  paid = math.min(begin - stamp, span) * gain
  if paid < owed then
    return here, begin, stored, owed - paid
  end
  return here, begin, math.min(cold, stored + paid - owed), 0
end

-- The parts it costs, above the plain interval, to take the store from `stored` to `rest`.
local function price(stored, rest, warm, cold, grain)
  local high, low, per
  high = math.floor(math.max(0, stored - warm) / grain)
  low = math.floor(math.max(0, rest - warm) / grain)
  per = math.floor(cold / grain)
  return (math.floor(2 * high * high / per) - math.floor(2 * low * low / per)) * grain
end

-- What is true if `cost` permits are taken at `enter` and paid for after it.
local function step(now, enter, cost, patience, gain, scale, cold, warm, grain, span, stored, owed, stamp)
  local here, begin, wait, asked, rest, remaining, reset
  here, begin, stored, owed = pay(now, enter, gain, cold, span, stored, owed, stamp)
  wait = enter - now
  if owed > 0 then
    wait = begin - now + math.floor((owed + gain - 1) / gain)
  end
  if wait <= patience then
    asked = cost * scale
    rest = math.max(0, stored - asked)
    owed = owed + asked + price(stored, rest, warm, cold, grain)
    stored = rest
  end
  remaining = -math.floor((owed + scale - 1) / scale)
  if owed == 0 then
    remaining = math.floor(stored / scale)
  end
  reset = begin - now + math.floor((owed + cold - stored + gain - 1) / gain)
  return wait, remaining, reset, stored, owed + (begin - here) * gain, here
end

-- What is true once `cost` permits are owed at the plain price, or given back if negative.
local function charge(now, cost, due, gain, scale, cold, span, stored, owed, stamp)
  local here, _, late, back, relied
  here, _, stored, owed = pay(now, now, gain, cold, span, stored, owed, stamp)
  if cost >= 0 then
    return stored, math.min(owed + cost * scale, DEEPEST), here
  end
  late = math.min(math.max(0, now - due), span) * gain
  back = math.max(0, -cost * scale - late)
  relied = owed - back - math.min(math.max(0, due - here), span) * gain
  if relied > 0 then
    back = math.max(0, back - relied - gain)
  end
  if back > owed then
    return math.min(cold, stored + back - owed), 0, here
  end
  return stored, owed - back, here
end

return {step = step, charge = charge, price = price, pay = pay, fresh = fresh}
