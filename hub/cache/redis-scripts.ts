/**
 * Layout of a cache in Redis. All names begin with the prefix of the cache:
 *
 * - `value:{epoch}:{key}`: a string for each entry, "created expires value", which Redis itself expires. A hit is
 *   one GET.
 * - `facts`: a hash by key of "bytes expires tag". `recency` and `expiry`: sorted sets of the same keys. These three
 *   are the index, which enforces the limits. Times are those of Redis in milliseconds; the tag is JSON.
 * - `counters`: a hash with the epoch, the bytes of all entries, the number of the latest use, and the statistics.
 * - `forgot:{tag}`: written by each forget; `forgot:` by a forget of all entries. Together with the epoch, they are
 *   the generation of a tag: a fill that began in an earlier generation stores nothing.
 *
 * The index expires after its last entry. If Redis has evicted a part of the index, the next change begins a new epoch:
 * hubs do not find values of an earlier epoch, which expire by themselves.
 */
const layout = `
local prefix = KEYS[1]
local counters, facts = prefix .. 'counters', prefix .. 'facts'
local recency, expiry = prefix .. 'recency', prefix .. 'expiry'
local function generationOf(tag, epoch)
  local forgot = redis.call('MGET', prefix .. 'forgot:', prefix .. 'forgot:' .. tag)
  return epoch .. ':' .. (forgot[1] or '') .. ':' .. (forgot[2] or '')
end
`;

/** Returns the name of an entry's value in Redis. The scripts build the same name. */
export const valueName = (prefix: string, epoch: string, key: string) =>
  `${prefix}value:${epoch}:${key}`;

/** Tolerance in ms for a clock of Redis that was set back a little, and for the hub's estimate of that clock. */
const futureMs = 1_000;

/**
 * Parses a value that `indexScript` wrote. `nowMs`: time of Redis in milliseconds. Returns undefined if another program
 * wrote the value, if it has expired, or if its creation is in the future because the clock of Redis was set back.
 */
export function readEntry(text: string, nowMs: number) {
  const [, created, expires] = /^(\d+) (\d+) /.exec(text) ?? [];
  if (created === undefined || expires === undefined) return undefined;
  if (Number(expires) <= nowMs || Number(created) > nowMs + futureMs) return undefined;
  const value = text.slice(created.length + expires.length + 2);
  return { value, ageMs: Math.max(0, Math.floor(nowMs - Number(created))) };
}

/**
 * Lua script that finds an entry without marking it as used. Arguments: key and tag. Returns the generation of the tag,
 * and if there is an entry, its value as text and the time of Redis.
 */
export const findScript = `${layout}
local key, tag = unpack(ARGV)
local epoch = redis.call('HGET', counters, 'epoch') or ''
local text = redis.call('GET', prefix .. 'value:' .. epoch .. ':' .. key)
if not text then return { generationOf(tag, epoch) } end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
return { generationOf(tag, epoch), text, string.format('%.0f', now) }
`;

/** Lifetime of counters and generations after their last use, in ms. */
const idleMs = 86_400_000;
/** Maximum number of expired entries, and of those of a tag, that one run removes: other clients of Redis wait. */
const [maxExpired, maxForgotten] = [1_000, 500];

/**
 * Lua script that changes the index atomically for all hubs. Arguments: a change as JSON (`IndexChange` in
 * `redis-index.ts`), the value of a new entry, and the channel. Returns `done` or the reason why Redis refused writes,
 * and the fields that `redis-index.ts` reads.
 *
 * If its memory is full, Redis refuses the first write of a script or none, so the first write is one that needs
 * memory.
 */
export const indexScript = `${layout}
local change, value, channel = cjson.decode(ARGV[1]), ARGV[2], ARGV[3]
local counts, uses, put, forget = change.counts, change.uses, change.put, change.forget
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local epoch = redis.call('HGET', counters, 'epoch') or ''
local function text(number) return string.format('%.0f', number) end
local function nameOf(key) return prefix .. 'value:' .. epoch .. ':' .. key end
local function known(key)
  local bytes, expires, tag = string.match(redis.call('HGET', facts, key) or '', '^(%d+) (%d+) (.*)$')
  return tonumber(bytes), tonumber(expires), tag
end
local function remove(key)
  local bytes = known(key)
  redis.call('UNLINK', nameOf(key))
  redis.call('HDEL', facts, key)
  redis.call('ZREM', recency, key)
  redis.call('ZREM', expiry, key)
  if bytes then redis.call('HINCRBY', counters, 'bytes', -bytes) end
end
local function sweep(most)
  local expired = redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, most)
  for _, key in ipairs(expired) do remove(key) end
  return #expired
end
local function last(name, milliseconds)
  if redis.call('PTTL', name) < milliseconds then
    redis.call('PEXPIRE', name, text(milliseconds))
  end
end

local status, order = 'done', 0
if put or #uses > 0 or next(counts) then
  order = redis.pcall('HINCRBY', counters, 'order', #uses + 1)
  if type(order) == 'table' then status, order = order.err, 0 end
end
if order > 0 or forget or epoch == '' then
  local size = redis.call('HLEN', facts)
  if epoch == '' or redis.call('HEXISTS', counters, 'bytes') == 0
    or size ~= redis.call('ZCARD', recency) or size ~= redis.call('ZCARD', expiry) then
    redis.call('UNLINK', facts, recency, expiry)
    epoch = text(tonumber(time[1]) * 1000000 + tonumber(time[2]))
    redis.call('HSET', counters, 'bytes', 0, 'epoch', epoch)
  end
  last(counters, ${idleMs})
end
if order > 0 then
  for place, key in ipairs(uses) do
    redis.call('ZADD', recency, 'XX', order - #uses - 1 + place, key)
  end
end

local forgotten, cursor = 0, '0'
if forget then
  if forget.cursor == '0' then
    local name = prefix .. 'forgot:' .. forget.tag
    redis.call('UNLINK', name)
    redis.call('SET', name, text(tonumber(time[1]) * 1000000 + tonumber(time[2])), 'PX', ${idleMs})
    redis.call('PUBLISH', channel, cjson.encode({ forgot = forget.tag }))
  end
  local page = redis.call('HSCAN', facts, forget.cursor, 'COUNT', ${maxForgotten})
  cursor = page[1]
  for place = 1, #page[2], 2 do
    local key = page[2][place]
    local bytes, expires, tag = known(key)
    if bytes and (forget.tag == '' or forget.tag == tag) then
      if expires > now then forgotten = forgotten + 1 end
      remove(key)
    end
  end
end

local swept = sweep(${maxExpired})
if order > 0 and put and generationOf(put.tag, epoch) == put.generation then
  local key, bytes = put.key, #put.key + #value
  remove(key)
  if bytes <= put.maxBytes then
    local expires = text(now + put.ttlMs)
    redis.call('SET', nameOf(key), text(now) .. ' ' .. expires .. ' ' .. value, 'PX', text(put.ttlMs))
    redis.call('HSET', facts, key, bytes .. ' ' .. expires .. ' ' .. put.tag)
    redis.call('ZADD', recency, order, key)
    redis.call('ZADD', expiry, expires, key)
    local total = redis.call('HINCRBY', counters, 'bytes', bytes)
    local size = redis.call('ZCARD', recency)
    while size > 0 and (size > put.maxEntries or total > put.maxBytes) do
      remove(redis.call('ZRANGE', recency, 0, 0)[1])
      redis.call('HINCRBY', counters, 'evictions', 1)
      total = tonumber(redis.call('HGET', counters, 'bytes'))
      size = size - 1
    end
    -- All to the same end: no part of the index expires before another.
    local lastMs = math.max(put.ttlMs, redis.call('PTTL', facts) - 1000) + 1000
    for _, name in ipairs({ facts, recency, expiry }) do redis.call('PEXPIRE', name, text(lastMs)) end
    last(counters, lastMs)
  end
end

if order > 0 then
  for name, count in pairs(counts) do redis.call('HINCRBY', counters, name, count) end
end
-- A counter may just have come back after Redis evicted the hash.
if redis.call('PTTL', counters) == -1 then last(counters, ${idleMs}) end
local answer = { status, epoch, text(now), text(forgotten), cursor, swept == ${maxExpired} and 'more' or 'all',
  text(redis.call('ZCARD', recency)) }
for _, name in ipairs({ 'bytes', 'hits', 'misses', 'joined', 'evictions', 'errors' }) do
  answer[#answer + 1] = redis.call('HGET', counters, name) or '0'
end
return answer
`;

/** Lua script that removes the keys given as arguments, and returns how many existed. */
export const removeScript = `return { tostring(redis.call('UNLINK', unpack(ARGV))) }`;
