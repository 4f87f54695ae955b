-- Every verb, under any limits: what table.py, council.py and rows.py do with a row of cells.
-- KEYS: the record. ARGV: nonce, verb, cost, patience, now (empty for the server's), due, and what
-- a verb or a calendar wants besides.
local FOREVER = 4611686018427387904
local W, R, Z, X, Y, U = {}, {}, {}, {}, {}, {}

-- Ask every limit about entering then: the longest wait, or -n for the limit it never fits.
local function consult(enter, cost, patience)
  local longest = 0
  for n = 1, COUNT do
    if cost > MOST[n] then
      return -n
    end
    W[n], R[n], Z[n], X[n], Y[n], U[n] = look(n, enter, cost, patience)
    longest = max(longest, W[n])
  end
  return longest
end

-- The longest wait once all have been asked about the same moment of entry.
local function settle(cost, patience)
  local enter = now
  local longest = consult(enter, cost, patience)
  while COUNT > 1 and enter - now < longest and longest <= patience do
    enter = now + longest
    longest = consult(enter, cost, patience)
  end
  return longest
end

-- Allowed: the limit with the least left. Refused: of those that refuse, the longest wait.
local function tightest(patience, refused)
  local chosen, least = 1, FOREVER
  for n = 1, COUNT do
    local measure = R[n]
    if refused then
      measure = W[n] > patience and -W[n] or FOREVER
    end
    if measure < least then
      chosen, least = n, measure
    end
  end
  return chosen
end

-- Write what every limit answered last.
local function keep(cost)
  local after = 0
  for n = 1, COUNT do
    put(n, cost, X[n], Y[n], U[n])
    after = max(after, Z[n] + LASTING[n])
  end
  save(after)
end

-- How long from now what is written matters.
local function ending()
  local after = 0
  for n = 1, COUNT do
    if MOST[n] >= 0 then
      local _, _, reset = look(n, now, 0, FOREVER)
      after = max(after, reset + LASTING[n])
    end
  end
  return after
end

-- Write what is true as of now.
local function restate()
  local after = 0
  for n = 1, COUNT do
    if MOST[n] >= 0 then
      local _, _, reset, x, y, u = look(n, now, 0, FOREVER)
      put(n, 0, x, y, u)
      after = max(after, reset + LASTING[n])
    end
  end
  save(after)
end

-- The limits that refused charge their penalties, unless the key owes so much already.
local function blame(patience)
  local blamed = false
  for n = 1, COUNT do
    if PENALTY[n] > 0 and W[n] > patience and R[n] > -WORST[n] then
      charge(n, PENALTY[n], now)
      blamed = true
    end
  end
  if blamed then
    save(ending())
  end
  return blamed
end

local function answer(code, wait, remaining, reset)
  return ARGV[1] .. pack('<Bi8i8i8i8', code, wait, remaining, reset, now)
end

local function never(n)
  local remaining, reset = 0, 0
  if MOST[n] >= 0 then
    local _
    _, remaining, reset = look(n, now, 0, FOREVER)
  end
  return answer(31 + n, 0, remaining, reset)
end

local function decide(cost, patience, spend)
  local longest = settle(cost, patience)
  if longest < 0 then
    return never(-longest)
  end
  local refused = longest > patience
  if not spend then
    if not refused and cost > 0 then
      consult(now, 0, FOREVER)
    end
  elseif not refused then
    keep(cost)
  else
    local again = blame(patience) or COUNT > 1
    if again then
      longest = consult(now, cost, patience)
    end
    if written > now + 1000000 then
      restate()
    end
  end
  local n = tightest(patience, refused)
  return answer((refused and 15 or -1) + n, longest, R[n], Z[n])
end

-- Spend whatever is left, or give back; answers what is true then.
local function spend(cost, due)
  if known or cost >= 0 then
    for n = 1, COUNT do
      if MOST[n] >= 0 then
        charge(n, cost, due)
      end
    end
    save(ending())
  end
end

-- An allowance: what is asked for if it is there, no more than half of the rest, no less than
-- `least`; otherwise the wait until so much is there.
local function lease(cost, want, least)
  local unfit = consult(now, 0, FOREVER)
  if unfit < 0 then
    return never(-unfit)
  end
  local left = FOREVER
  for n = 1, COUNT do
    if cost > MOST[n] then
      return never(n)
    end
    left = min(left, R[n])
    least = min(least, MOST[n])
  end
  least = max(cost, least)
  if left < least then
    return decide(least, 0, false)
  end
  local grant = max(least, min(want, ceil(left / 2)))
  consult(now, grant, 0)
  keep(grant)
  local n = tightest(0, false)
  return answer(n - 1, grant, R[n], Z[n])
end

local verb, cost, patience, due = ARGV[2], ARGV[3] + 0, ARGV[4] + 0, ARGV[6] + 0
if verb == 'take' then
  return decide(cost, patience, true)
elseif verb == 'peek' then
  return decide(cost, patience, false)
elseif verb == 'charge' then
  spend(cost, due)
  return decide(0, 0, false)
elseif verb == 'lease' then
  if ARGV[7] then
    -- What is unspent of the last lease goes back first.
    spend(-ARGV[7], ARGV[8] + 0)
  end
  return lease(cost, patience, due)
elseif verb == 'book' then
  local before = whole()
  local reply = decide(cost, patience, true)
  local after = whole()
  return reply .. pack('<I4', #before) .. before .. after
elseif verb == 'release' then
  -- To the letter if the cells are as it left them, whenever they were written.
  if #ARGV[8] > 0 and whole():sub(10) == ARGV[8]:sub(10) then
    if ARGV[7] == '' then
      call('DEL', KEYS[1])
    else
      call('SET', KEYS[1], ARGV[7], 'KEEPTTL')
    end
  else
    spend(-cost, due)
  end
  return answer(0, 0, 0, 0)
end
return redis.error_reply('ERR headgate knows no verb ' .. verb)
