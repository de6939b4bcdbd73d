import type { Standing } from './breaker.ts';
import type { BreakerDecision } from './shared-breakers.ts';

/**
 * Lua script that exchanges decisions on breakers, atomically for all hubs. Keys: for each breaker, its state and its
 * trial. Arguments: the channel, the lifetime of a state in ms after its next trial, and for each breaker what the hub
 * knows (`reportText`). Returns one row for each breaker: empty, or a new epoch for the hub, followed by the decision
 * unless it is the hub's own.
 *
 * The order of decisions:
 *
 * - An epoch is the time of Redis in microseconds at which the decision was made, or the previous epoch plus one if
 *   that clock was set back. Epochs survive a flush of Redis, because hubs report what they know.
 * - A decision is written if its hub knew the decision in Redis, or decided later. Otherwise the hub adopts the
 *   decision in Redis. Hubs send the age of a decision, so that only the clock of Redis counts. Decisions of two hubs
 *   are ordered correctly if the time between them is longer than a message takes.
 * - A hub restores a decision that is later than the one in Redis. A closed breaker is restored only if Redis has an
 *   open one: a breaker without a state is closed anyway.
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

/** Lock of a hub on a trial, to be renewed, or to be released with a lease of 0. */
export type TrialHold = { readonly token: string; readonly leaseMs: number };

export type Report = Standing & {
  readonly key: string;
  readonly epoch: number;
  /** Age in ms of a decision of this hub that the other hubs do not know yet; undefined if there is none. */
  readonly ageMs: number | undefined;
  readonly trial: TrialHold | undefined;
};

const maxWhyCharacters = 300;

export function reportText(report: Report): string {
  return JSON.stringify({
    key: report.key,
    // As text, because Lua prints numbers of this size with an exponent.
    epoch: String(report.epoch),
    state: report.state,
    remaining: Math.ceil(report.remainingMs),
    failures: report.failures,
    // The script cannot parse a lone surrogate.
    why: report.why.slice(0, maxWhyCharacters).toWellFormed(),
    decided: report.ageMs !== undefined,
    // In microseconds, like the epochs.
    age: Math.round((report.ageMs ?? 0) * 1_000),
    trial: report.trial,
  });
}

/** Parses the decision in a row or a message; undefined if this script did not write it. */
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
