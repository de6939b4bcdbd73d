import type { Standing } from './breaker.ts';
import type { BreakerDecision } from './shared-breakers.ts';

/**
 * Exchanges decisions on breakers, in one step for all hubs. Keys: for each breaker its state and its trial.
 * Arguments: the channel, the lifetime of a state in milliseconds after its next trial, and for each breaker what the
 * hub knows (`reportText`). Answers one row for each breaker: empty, or a new epoch for the hub, and the decision unless
 * it is the hub's own.
 *
 * The order of decisions:
 *
 * - An epoch is the time of Redis in microseconds at which the decision was made, or one more than the epoch
 *   before if that clock went back. It survives a flush, because hubs bring back what they know.
 * - A decision is written if its hub knew the one in Redis, or made it later. Its age is a duration, so that only
 *   the clock of Redis counts. Otherwise the hub adopts the decision in Redis. Decisions of two hubs are ordered
 *   if they are further apart than a message takes.
 * - A hub that knows a later decision brings it back. A closed breaker is brought back only over an open one:
 *   a breaker without a state is closed anyway.
 */
export const meetScript = `
local function text(number) return string.format('%.0f', number) end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local rows = {}
for place = 1, #KEYS / 2 do
  local key, trial = KEYS[2 * place - 1], KEYS[2 * place]
  local own = cjson.decode(ARGV[2 + place])
  local kept = redis.call('HMGET', key, 'epoch', 'state', 'until', 'failures', 'why')
  rows[place] = {}
  local knows, there = tonumber(own.epoch), tonumber(kept[1] or '0')
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
    rows[place] = { written }
  elseif there > knows then
    local remaining = math.max(0, (tonumber(kept[3]) - now) / 1000)
    rows[place] = { kept[1], kept[2], text(remaining), kept[4], kept[5] }
  end
  -- After the message about its outcome: a hub that gets the next trial has heard it.
  if own.trial then
    local holder = redis.call('GET', trial)
    if own.trial.leaseMs == 0 then
      if holder == own.trial.token then redis.call('DEL', trial) end
    elseif not holder or holder == own.trial.token then
      redis.call('SET', trial, own.trial.token, 'PX', text(own.trial.leaseMs))
    end
  end
end
return rows
`;

/** A hub's hold on a trial, to renew, or to end with a lease of 0. */
export type TrialHold = { readonly token: string; readonly leaseMs: number };

export type Report = Standing & {
  readonly key: string;
  readonly epoch: number;
  /** Age of a decision of this hub that the others do not know yet. */
  readonly ageMs: number | undefined;
  readonly trial: TrialHold | undefined;
};

const maxWhyCharacters = 300;

export function reportText(report: Report): string {
  return JSON.stringify({
    key: report.key,
    // As text: Lua prints numbers of this size with an exponent.
    epoch: String(report.epoch),
    state: report.state,
    remaining: Math.ceil(report.remainingMs),
    failures: report.failures,
    // The script could not parse half of a surrogate pair.
    why: report.why.slice(0, maxWhyCharacters).toWellFormed(),
    decided: report.ageMs !== undefined,
    // In microseconds, as epochs are.
    age: Math.round((report.ageMs ?? 0) * 1_000),
    trial: report.trial,
  });
}

/** The decision in a row or a message; undefined if this script did not write it. */
export function parseDecision(fields: readonly unknown[]): BreakerDecision | undefined {
  const [epochText, state, remainingText, failuresText, why] = fields;
  const [epoch, remainingMs, failures] = [epochText, remainingText, failuresText].map(Number);
  if (state !== 'open' && state !== 'closed') return undefined;
  if (!isCount(epoch) || !isCount(remainingMs) || !isCount(failures)) return undefined;
  return { epoch, state, remainingMs, failures, why: String(why) };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}
