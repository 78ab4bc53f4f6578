-- Decisions with random contexts and ids: init(token, patience, timed, pause), one request after the
-- other per connection, up to twice `pause` milliseconds apart. One that was turned away is followed by a pause of `patience` milliseconds; if
-- `timed`, decisions that were answered are timed apart from what was turned away.
local ffi = require("ffi")
ffi.cdef("struct moment { long s; long ns; }; int clock_gettime(int, struct moment *);")
local path = "/v1/models/banner/decisions"
local devices = { "phone", "tablet", "desk" }
local threads = {}
local number = 0

function setup(thread)
  number = number + 1
  thread:set("seed", number)
  table.insert(threads, thread)
end

local moment = ffi.new("struct moment")
local function now()
  ffi.C.clock_gettime(1, moment)
  return tonumber(moment.s) * 1e6 + math.floor(tonumber(moment.ns) / 1e3)
end

function init(args)
  math.randomseed(seed + os.time())
  wrk.headers["authorization"] = "Bearer " .. args[1]
  wrk.headers["content-type"] = "application/json"
  answered, shed, other = 0, 0, 0
  -- Tenths of a millisecond: how many decisions took so long.
  times = {}
  asked, is_timed = 0, args[3] == "timed"
  start = math.random(0, 2 ^ 30)
  local patience, pauses, pause = tonumber(args[2] or 0), 0, tonumber(args[4] or 0)
  if patience > 0 then
    -- Which connection pauses is not known here; how many do is.
    turned_away = function() pauses = pauses + 1 end
    delay = function()
      if pauses == 0 then return 0 end
      pauses = pauses - 1
      return patience
    end
  else
    turned_away = function() end
  end
  if pause > 0 then
    delay = function() return math.random(0, 2 * pause) end
  end
end

function request()
  local age, hour = math.random(18, 80), math.random(0, 23)
  local device = devices[math.random(1, 3)]
  local id = ""
  if is_timed then
    asked = asked + 1
    id = string.format('"event_id":"%d.%d.%d.%.0f",', seed, start, asked, now())
  end
  local body = string.format('{%s"context":{"age":%d,"hour":%d,"device":"%s"}}', id, age, hour, device)
  return wrk.format("POST", path, nil, body)
end

function response(status, headers, body)
  if status == 200 then
    answered = answered + 1
    if is_timed then
      local sent = tonumber(body:match('"event_id":"%d+%.%d+%.%d+%.(%d+)"'))
      local took = math.floor((now() - sent) / 100)
      times[took] = (times[took] or 0) + 1
    end
  elseif status == 503 then
    shed = shed + 1
    turned_away()
  else
    other = other + 1
  end
end

-- A percentile of decisions in milliseconds.
local function at(counts, all, share)
  local keys, sum = {}, 0
  for key in pairs(counts) do table.insert(keys, key) end
  table.sort(keys)
  for _, key in ipairs(keys) do
    sum = sum + counts[key]
    if sum >= share * all then return (key + 1) / 10 end
  end
  return 0
end

function done(summary, latency)
  local all = { answered = 0, shed = 0, other = 0 }
  local counts = {}
  for _, thread in ipairs(threads) do
    for key in pairs(all) do
      all[key] = all[key] + thread:get(key)
    end
    for key, count in pairs(thread:get("times")) do
      counts[key] = (counts[key] or 0) + count
    end
  end
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"answered":%d,"shed":%d,"other":%d,"seconds":%.3f,"p50_ms":%.2f,"p99_ms":%.2f,'
      .. '"decided_p50_ms":%.1f,"decided_p99_ms":%.1f,"socket_errors":%d}\n',
    all.answered, all.shed, all.other, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    at(counts, all.answered, 0.5), at(counts, all.answered, 0.99),
    errors.connect + errors.read + errors.write + errors.timeout))
end
