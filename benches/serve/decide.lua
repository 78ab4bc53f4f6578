-- Decisions with random contexts and ids: init(token), one request after the other per connection.
local path = "/v1/models/banner/decisions"
local devices = { "phone", "tablet", "desk" }
local threads = {}
local number = 0

function setup(thread)
  number = number + 1
  thread:set("seed", number)
  table.insert(threads, thread)
end

function init(args)
  math.randomseed(seed + os.time())
  wrk.headers["authorization"] = "Bearer " .. args[1]
  wrk.headers["content-type"] = "application/json"
  answered, shed, other = 0, 0, 0
end

function request()
  local age, hour = math.random(18, 80), math.random(0, 23)
  local device = devices[math.random(1, 3)]
  local body = string.format('{"context":{"age":%d,"hour":%d,"device":"%s"}}', age, hour, device)
  return wrk.format("POST", path, nil, body)
end

function response(status)
  if status == 200 then
    answered = answered + 1
  elseif status == 503 then
    shed = shed + 1
  else
    other = other + 1
  end
end

function done(summary, latency)
  local all = { answered = 0, shed = 0, other = 0 }
  for _, thread in ipairs(threads) do
    for key in pairs(all) do
      all[key] = all[key] + thread:get(key)
    end
  end
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"answered":%d,"shed":%d,"other":%d,"seconds":%.3f,"p50_ms":%.2f,"p99_ms":%.2f,"socket_errors":%d}\n',
    all.answered, all.shed, all.other, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.timeout))
end
