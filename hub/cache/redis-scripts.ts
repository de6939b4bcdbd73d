/**
 * How hubs keep one cache in Redis. Each script is one step for all of them. What is kept:
 *
 * - `values`, a hash by key of "created expires value", times in milliseconds of Redis, so that no clock but
 *   that of Redis counts: all that a hit needs comes by one HGET, for which no script runs.
 * - `facts`, a hash by key of "bytes expires tag", the tag as JSON.
 * - `recency`, `expiry` and `tags`, three sorted sets of the same keys: by a number that grows with each
 *   use, by the end of their time, and by their tags (all scores 0, members begin with the tag).
 * - `locks`, a hash by key of who fills: "token until tag". One that is past its time counts for nothing.
 * - `counters`, a hash: the bytes of all entries, the last number of a use, and what is counted.
 *
 * All of it expires together after the last entry, so that an unused cache leaves nothing behind. Where
 * Redis has evicted a part of it, the rest is dropped at the next fill.
 *
 * A script that wants to write in a Redis that is full is refused at its first write, or at none: what
 * must not fail half way therefore begins with a write that needs memory.
 */
export const keyNames = [
  'values',
  'facts',
  'recency',
  'expiry',
  'tags',
  'locks',
  'counters',
] as const;

/** What was kept later than this after now, by a clock of Redis that was set back since, has expired. */
export const futureMs = 1_000;

/** How a value is found: hubs read it so as well, in `redis-hits.ts`. */
const lookUp = `
local values, facts, recency, expiry, tags, locks, counters = unpack(KEYS)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function text(number) return string.format('%.0f', number) end
local function found(key)
  local kept = redis.call('HGET', values, key) or ''
  local created, expires, from = string.match(kept, '^(%d+) (%d+) ()')
  if not created or tonumber(expires) <= now or tonumber(created) > now + ${futureMs} then return nil end
  return { 'hit', string.sub(kept, from), text(math.max(0, now - tonumber(created))) }
end
`;

const common = `${lookUp}
local function known(key)
  local bytes, expires, tag = string.match(redis.call('HGET', facts, key) or '', '^(%d+) (%d+) (.*)$')
  return tonumber(bytes), tonumber(expires), tag
end
local function used(keys)
  -- A Redis that takes no more writes still serves what it has.
  local order = redis.pcall('HINCRBY', counters, 'order', #keys)
  if type(order) ~= 'number' then return false end
  for place, key in ipairs(keys) do
    redis.call('ZADD', recency, 'XX', order - #keys + place, key)
  end
  return true
end
local function holder(key)
  local token, till, tag = string.match(redis.call('HGET', locks, key) or '', '^(%S+) (%d+) (.*)$')
  if token and tonumber(till) > now then return token, tonumber(till) - now, tag end
end
local function remove(key)
  local bytes, expires, tag = known(key)
  if not bytes then return end
  redis.call('HDEL', values, key)
  redis.call('HDEL', facts, key)
  redis.call('ZREM', recency, key)
  redis.call('ZREM', expiry, key)
  redis.call('ZREM', tags, tag .. key)
  redis.call('HINCRBY', counters, 'bytes', -bytes)
end
local function sweep(most)
  local expired = redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, most)
  for _, key in ipairs(expired) do remove(key) end
  return #expired
end
local function last(key, milliseconds)
  if redis.call('PTTL', key) < milliseconds then redis.call('PEXPIRE', key, text(milliseconds)) end
end
local function told(channel, fields) redis.call('PUBLISH', channel, cjson.encode(fields)) end
`;

/** How long locks and counters outlive their last use, if no entry does. */
const idleMs = 86_400_000;

/** Fills under way in all hubs together; those above are not kept apart. */
const maxLocks = 10_000;

/**
 * Arguments: key, tag, token, for how long the key is locked, `hits` or `joined`, and the token of a fill that
 * has ended, whose lock counts for nothing. Answers `hit` with
 * the value and its age, `yours` where the caller is to fill, or `wait` and for how long the lock of
 * another one lasts. `full`: there are too many locks, and the caller fills without one.
 */
export const askScript = `${common}
local key, tag, token, lockMs, counter, ended = unpack(ARGV)
local hit = found(key)
if hit then
  if used({ key }) then redis.call('HINCRBY', counters, counter, 1) end
  return hit
end
local owner, leftMs = holder(key)
if owner and owner ~= token and owner ~= ended then return { 'wait', text(leftMs) } end
if redis.call('HLEN', locks) >= ${maxLocks} then
  local all = redis.call('HGETALL', locks)
  for place = 1, #all, 2 do
    if not holder(all[place]) then redis.call('HDEL', locks, all[place]) end
  end
  if redis.call('HLEN', locks) >= ${maxLocks} then return { 'full' } end
end
redis.call('HINCRBY', counters, 'misses', 1)
redis.call('HSET', locks, key, token .. ' ' .. text(now + lockMs) .. ' ' .. tag)
last(counters, ${idleMs})
last(locks, ${idleMs})
return { 'yours' }
`;

/** Arguments: key, token, for how long. Answers `yours`, or `lost` where the lock is another's by now. */
export const renewScript = `${common}
local key, token, lockMs = unpack(ARGV)
local owner, leftMs, tag = holder(key)
if owner ~= token then return { 'lost' } end
redis.call('HSET', locks, key, token .. ' ' .. text(now + lockMs) .. ' ' .. tag)
return { 'yours' }
`;

/**
 * Arguments: key, tag, token, `kept`, `given` (to those who wait, but not kept) or `failed`, the value, how
 * long it is kept, the most entries and bytes, and the channel. Answers what came of it, or `lost`: whose lock
 * was lost or forgotten keeps nothing. `full` and why: it was given instead of kept.
 */
export const finishScript = `${common}
local key, tag, token, outcome, value, ttlMs, maxEntries, maxBytes, channel = unpack(ARGV)
maxEntries, maxBytes = tonumber(maxEntries), tonumber(maxBytes)
if holder(key) ~= token then return { 'lost' } end
local order = outcome == 'kept' and redis.pcall('HINCRBY', counters, 'order', 1)
-- Before what may fail: nobody is to wait for a fill that has ended.
redis.pcall('HDEL', locks, key)
local refusal
if type(order) == 'table' then
  outcome, refusal = 'given', order.err
elseif order then
  local size = redis.call('HLEN', values)
  local isWhole = size == redis.call('HLEN', facts) and size == redis.call('ZCARD', recency)
    and size == redis.call('ZCARD', expiry) and size == redis.call('ZCARD', tags)
    and (size == 0 or redis.call('HEXISTS', counters, 'bytes') == 1)
  if not isWhole then
    redis.call('DEL', values, facts, recency, expiry, tags)
    redis.call('HSET', counters, 'bytes', 0)
  end
  sweep(100)
  remove(key)
  local bytes = #key + #value
  if bytes > maxBytes then
    outcome = 'given'
  else
    redis.call('HSET', values, key, text(now) .. ' ' .. text(now + ttlMs) .. ' ' .. value)
    redis.call('HSET', facts, key, bytes .. ' ' .. text(now + ttlMs) .. ' ' .. tag)
    redis.call('ZADD', recency, order, key)
    redis.call('ZADD', expiry, text(now + ttlMs), key)
    redis.call('ZADD', tags, 0, tag .. key)
    local total = redis.call('HINCRBY', counters, 'bytes', bytes)
    local count = redis.call('ZCARD', recency)
    while count > 0 and (count > maxEntries or total > maxBytes) do
      remove(redis.call('ZRANGE', recency, 0, 0)[1])
      redis.call('HINCRBY', counters, 'evictions', 1)
      total = tonumber(redis.call('HGET', counters, 'bytes'))
      count = count - 1
    end
    -- All to the same end: of what is alive no part is missing.
    local lastMs = math.max(tonumber(ttlMs), redis.call('PTTL', values) - 1000) + 1000
    for _, name in ipairs({ values, facts, recency, expiry, tags }) do
      redis.call('PEXPIRE', name, text(lastMs))
    end
    last(counters, lastMs)
  end
end
told(channel, { key = key, outcome = outcome, value = outcome == 'given' and value or nil })
if refusal then return { 'full', refusal } end
return { outcome }
`;

/** Argument: key. Answers as `askScript` does where there is a value, else `none`. It is no use of the value. */
export const peekScript = `${lookUp}
return found(ARGV[1]) or { 'none' }
`;

/** Arguments: key and value. The key has that value no more, which is none of a hub's; another one it keeps. */
export const dropScript = `${common}
local key, value = unpack(ARGV)
local hit = found(key)
if hit and hit[2] == value then
  remove(key)
  redis.call('HDEL', values, key)
end
return { 'dropped' }
`;

/** One step forgets at most so many entries of a tag: others wait meanwhile. */
const maxForgotten = 500;

/**
 * Arguments: a tag or an empty text for all, and the channel. Answers how many entries were forgotten, and
 * `more` where there are some left. Fills under way lose their locks with it.
 */
export const forgetScript = `${common}
local tag, channel = unpack(ARGV)
local forgotten, more = 0, 'done'
if tag == '' then
  forgotten = redis.call('ZCOUNT', expiry, '(' .. now, '+inf')
  redis.call('UNLINK', values, facts, recency, expiry, tags, locks)
  if redis.call('EXISTS', counters) == 1 then redis.call('HSET', counters, 'bytes', 0) end
else
  local all = redis.call('HGETALL', locks)
  for place = 1, #all, 2 do
    local owner, leftMs, of = holder(all[place])
    if of == tag then redis.call('HDEL', locks, all[place]) end
  end
  local members = redis.call('ZRANGEBYLEX', tags, '[' .. tag, '(' .. tag .. '\\255', 'LIMIT', 0, ${maxForgotten})
  for _, member in ipairs(members) do
    local key = string.sub(member, #tag + 1)
    local bytes, expires = known(key)
    if bytes and expires > now then forgotten = forgotten + 1 end
    remove(key)
    redis.call('ZREM', tags, member)
  end
  if #members == ${maxForgotten} then more = 'more' end
end
told(channel, { forgot = tag })
return { text(forgotten), more }
`;

/** One step takes out at most so many entries that have expired. */
const maxSwept = 1_000;

/**
 * Arguments: hits, misses, joined and errors that a hub counted by itself, and keys that were used since, the
 * last one used last. Answers whether they were added (`counted`, or why not), `more` where entries remain that have expired, and then entries, bytes, hits, misses,
 * joined, evictions and errors of all hubs.
 */
export const countScript = `${common}
local counted, more = 'counted', 'done'
for place, name in ipairs({ 'hits', 'misses', 'joined', 'errors' }) do
  if ARGV[place] ~= '0' then
    local sum = redis.pcall('HINCRBY', counters, name, ARGV[place])
    if type(sum) == 'table' then counted = sum.err break end
    last(counters, ${idleMs})
  end
end
if #ARGV > 4 and used({ unpack(ARGV, 5) }) then last(counters, ${idleMs}) end
if sweep(${maxSwept}) == ${maxSwept} then more = 'more' end
local answer = { counted, more, text(redis.call('ZCARD', recency)) }
for _, name in ipairs({ 'bytes', 'hits', 'misses', 'joined', 'evictions', 'errors' }) do
  answer[#answer + 1] = redis.call('HGET', counters, name) or '0'
end
return answer
`;
