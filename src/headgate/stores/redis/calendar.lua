-- A moment ahead as a step counts it, whose windows are all as long as this one: the inverse of
-- `date`. A window that is longer than this one has no end there.
local function undate(frame, moment)
  local begin, finish = frame[2], frame[3]
  if moment < finish then
    return moment
  end
  local length = finish - begin
  local ahead = 1
  while ahead < DATED and moment >= frame[3 + ahead] do
    ahead = ahead + 1
  end
  local rest = moment - frame[2 + ahead]
  if ahead == DATED then
    local further = floor(rest / length)
    ahead = ahead + further
    rest = rest - further * length
  end
  return begin + ahead * length + min(rest, length - 1)
end

-- How long a span from now really is, where windows are as long as the calendar makes them:
-- `frame` has the number of this window, when it begins, and the ends of it and of those after it.
local function date(frame, span, patience)
  local begin, finish = frame[2], frame[3]
  if now + span <= finish then
    return span
  end
  local length = finish - begin
  local ahead = floor((now + span - begin) / length)
  local rest = now + span - begin - ahead * length
  local dated = min(ahead, DATED)
  local real = frame[2 + dated] + max(0, ahead - DATED) * length + rest - now
  if span <= patience then
    return real
  end
  return max(real, patience + 1)
end
