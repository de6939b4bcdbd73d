/**
 * Lua script that admits or refuses a call, atomically for all hubs. Keys: the sorted set of the caller's calls in
 * progress, scored by the time at which their lease ends, and the token bucket. Arguments: the id of the call, its
 * lease in ms, the maximum of concurrent calls, and calls and period in ms of the rate; 0 for no limit. Returns nothing
 * if admitted, otherwise the limit that is exceeded, and the time in ms until a token is free.
 */
export const enterScript = `
local function text(number) return string.format('%.17g', number) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local lease, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local calls, period = tonumber(ARGV[4]), tonumber(ARGV[5])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now))
if most > 0 and redis.call('ZCARD', KEYS[1]) >= most then return { 'maxConcurrentCalls', 0 } end
if calls > 0 then
  local kept = redis.call('HMGET', KEYS[2], 'tokens', 'at')
  local tokens = tonumber(kept[1] or calls)
  local at = tonumber(kept[2] or now)
  if at > now then
    -- The clock was set back. Tokens grow again from now on.
    at = now
    redis.call('HSET', KEYS[2], 'at', text(now))
  end
  local passed = now - at
  tokens = math.min(calls, tokens + passed * calls / period)
  if tokens < 1 - 1e-9 then return { 'rate', math.ceil((1 - tokens) * period / calls) } end
  redis.call('HSET', KEYS[2], 'tokens', text(tokens - 1), 'at', text(now))
  redis.call('PEXPIRE', KEYS[2], text(math.ceil(period)))
end
redis.call('ZADD', KEYS[1], text(now + lease), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {}
`;

/** Lua script that ends a call. Keys: the caller's calls in progress. Argument: the id of the call. */
export const leaveScript = `return redis.call('ZREM', KEYS[1], ARGV[1])`;

/**
 * Lua script that renews the leases of calls, and adds those that Redis has lost. Keys: for each call, the calls in
 * progress of its caller. Arguments: the lease in ms, and the ids of the calls.
 */
export const renewScript = `
local time = redis.call('TIME')
local ends = string.format('%.17g', tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000 + tonumber(ARGV[1]))
for place, key in ipairs(KEYS) do
  redis.call('ZADD', key, ends, ARGV[place + 1])
  redis.call('PEXPIRE', key, ARGV[1])
end
return 0
`;
