import type { Standing } from './breaker.ts';
import type { Decision } from './shared-breakers.ts';

/**
 * How decisions on one key are put in order, in the one place that all hubs reach:
 *
 * - An epoch is the time of Redis in microseconds at which the decision was made, or one more than the
 *   epoch before where that clock went back. It outlives a flush, as hubs bring back what they know.
 * - A decision is written when its hub knew what is there, or made it later than what is there (its
 *   age is a duration, so that no clock but that of Redis counts). Else its hub takes over what is there.
 *   Of two hubs, that orders what is further apart than a message is under way.
 * - A hub that knows of a later decision than is there brings it back. What is closed is brought back
 *   only over what is open: where nothing is known, a breaker is closed anyway.
 * - What nobody brings back is gone after `kept` milliseconds.
 */
const standing = `
local function known(key)
  local kept = redis.call('HMGET', key, 'epoch', 'state', 'until', 'failures', 'why')
  return tonumber(kept[1] or '0'), kept
end
local function text(number) return string.format('%.0f', number) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local function told(kept)
  local remaining = math.max(0, (tonumber(kept[3]) - now) / 1000)
  return kept[1], kept[2], text(remaining), kept[4], kept[5]
end
`;

/**
 * Keys: for each breaker its state and its trial. Arguments: the channel, `kept`, and for each breaker
 * what its hub knows, as JSON. Answers one row for each whose hub is to know a new epoch: its place from
 * 1, the epoch, and the decision behind it unless it is the hub's own.
 */
export const meetScript = `${standing}
local rows = {}
for place = 1, #KEYS / 2 do
  local key, trial = KEYS[2 * place - 1], KEYS[2 * place]
  local own = cjson.decode(ARGV[2 + place])
  local knows, there, kept = tonumber(own.epoch), known(key)
  local epoch
  if own.decided then
    local at = now - own.age
    if knows >= there or at > there then epoch = math.max(at, there + 1, knows + 1) end
  elseif there < knows and (own.state == 'open' or there > 0) then
    epoch = knows
  end
  if epoch then
    local written = text(epoch)
    redis.call('HSET', key, 'epoch', written, 'state', own.state, 'until',
      text(now + own.remaining * 1000), 'failures', own.failures, 'why', own.why)
    redis.call('PEXPIRE', key, text(own.remaining + tonumber(ARGV[2])))
    redis.call('PUBLISH', ARGV[1], cjson.encode({ own.key, written, own.state,
      text(own.remaining), text(own.failures), own.why }))
    rows[#rows + 1] = { place, written }
  elseif there > knows then
    rows[#rows + 1] = { place, told(kept) }
  end
  if own.release and redis.call('GET', trial) == own.release then redis.call('DEL', trial) end
end
return rows
`;

/**
 * Keys: state and trial. Arguments: the epoch that the hub knows, its token, and for how many milliseconds.
 * Answers `won`, `lost` with the milliseconds left to whoever has it, or `late` with a later decision.
 */
export const claimScript = `${standing}
local there, kept = known(KEYS[1])
if there > tonumber(ARGV[1]) then return { 'late', told(kept) } end
if redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ARGV[3]) then return { 'won' } end
return { 'lost', redis.call('PTTL', KEYS[2]) }
`;

/**
 * Keys: the trial. Arguments: the token of whoever had it, and for how many milliseconds. Has it end so much
 * later, also where it has run out meanwhile, unless another has it by now.
 */
export const renewScript = `
local holder = redis.call('GET', KEYS[1])
if not holder or holder == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
`;

/** What a hub says of one breaker when it meets others. */
export type Saying = Standing & {
  readonly key: string;
  readonly epoch: number;
  /** Since when the decision stands, if no other hub knows of it yet. */
  readonly ageMs: number | undefined;
  /** The token of a trial that is over. */
  readonly release: string | undefined;
};

const maxWhyCharacters = 300;

/** A saying as the script takes it. */
export function sayingText(saying: Saying): string {
  return JSON.stringify({
    key: saying.key,
    // As text: what Lua prints of a number this large is not the number.
    epoch: String(saying.epoch),
    state: saying.state,
    remaining: Math.ceil(saying.remainingMs),
    failures: saying.failures,
    // Half a surrogate pair would make the whole saying unreadable.
    why: saying.why.slice(0, maxWhyCharacters).toWellFormed(),
    decided: saying.ageMs !== undefined,
    // In microseconds, as epochs are.
    age: Math.round((saying.ageMs ?? 0) * 1_000),
    release: saying.release,
  });
}

/** What a row or a message says of a decision; undefined where it is not the writing of these scripts. */
export function parseDecision(fields: readonly unknown[]): Decision | undefined {
  const [epochText, state, remainingText, failuresText, why] = fields;
  const [epoch, remainingMs, failures] = [epochText, remainingText, failuresText].map(Number);
  if (state !== 'open' && state !== 'closed') return undefined;
  if (!isCount(epoch) || !isCount(remainingMs) || !isCount(failures)) return undefined;
  return { epoch, state, remainingMs, failures, why: String(why) };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}
