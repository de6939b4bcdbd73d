/**
 * Admits a call, or refuses it, in one step for all hubs. Keys: the calls in progress of the caller, each with the time
 * at which its lease ends, and the bucket. Arguments: the id of the call, its lease in milliseconds, the maximum of
 * calls at the same time, and calls and period of the rate; 0 for no such limit. Answers what refuses the call, if
 * anything, and after how many milliseconds a token is free.
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

/** Ends a call. Keys: the calls in progress of the caller. Argument: the id of the call. */
export const leaveScript = `return redis.call('ZREM', KEYS[1], ARGV[1])`;

/**
 * Renews the leases of calls, also of those that Redis has lost. Keys: for each call the calls in progress of its
 * caller. Arguments: the lease in milliseconds, and the ids of the calls.
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
