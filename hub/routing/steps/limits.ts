import { HubError } from '#core';
import { type Principal, policyNameOf } from '#policy';
import type { CallAdmission, CallLimiter, CallLimits } from '#resilience';
import { whenEnded } from '../answering.ts';
import type { ResolvedCall, Step } from '../call.ts';
import { isOfOneRequest } from '../client-identity.ts';
import { type SessionState, throwIfCancelled } from '../session.ts';

/** Call limits of callers, from the config. */
export type LimitRules = {
  /** Limits by name of the client. They apply to all sessions of a client together. */
  readonly clients: ReadonlyMap<string, CallLimits>;
  /** Limits for each session of a caller that is not a named client. */
  readonly perSession: CallLimits | undefined;
};

export type LimitNeeds = {
  /** Returns the limits; undefined if no caller has limits. Read at each call, so that a reload applies at once. */
  readonly rules: () => LimitRules | undefined;
  /** Counts the calls of named clients, possibly together with other hubs. */
  readonly clients: Pick<CallLimiter, 'enter'>;
  /** Counts the calls of single sessions, which use only this hub. */
  readonly sessions: Pick<CallLimiter, 'enter'>;
};

/** Methods that count as calls to servers. */
const counted = new Set(['tools/call', 'resources/read', 'prompts/get', 'completion/complete']);

type Limited = {
  readonly limiter: Pick<CallLimiter, 'enter'>;
  readonly key: string;
  readonly limits: CallLimits;
  /** Path of the limits in the config. */
  readonly place: string;
};

/**
 * Creates the step that refuses calls above the limits of their caller. It does not queue them, because callers share
 * the queues of servers. Undefined without limits.
 */
export function createLimitStep(needs: LimitNeeds | undefined): Step | undefined {
  if (!needs) return undefined;
  return (resolved, next) => {
    const rules = needs.rules();
    if (!rules || !resolved.server || !counted.has(resolved.call.request.method))
      return next(resolved);
    const { principal, session } = resolved.call;
    const limited = limitsOf(principal, session, rules, needs);
    if (!limited) return next(resolved);
    const { limiter, key, limits } = limited;
    const entered = limiter.enter(key, limits);
    return entered instanceof Promise
      ? entered.then(admission => proceed(resolved, next, admission, limited))
      : proceed(resolved, next, entered, limited);
  };
}

/**
 * Creates a function that counts a request which does what a call does, such as one of the HTTP API. It resolves with
 * the function to call when the request ends. It rejects with HUB_LIMIT_REACHED.
 */
export const createRequestLimits =
  (needs: LimitNeeds) =>
  async (principal: Principal): Promise<() => void> => {
    const rules = needs.rules();
    const limited = rules && limitsOf(principal, undefined, rules, needs);
    if (!limited) return () => {};
    const admission = await limited.limiter.enter(limited.key, limited.limits);
    if (admission.kind === 'refused') throw refusal(principal, admission, limited);
    return () => admission.leave();
  };

function limitsOf(
  principal: Principal,
  session: SessionState | undefined,
  rules: LimitRules,
  { clients, sessions }: LimitNeeds,
): Limited | undefined {
  if (principal.kind === 'client') {
    const limits = rules.clients.get(principal.name);
    const place = `clients.${principal.name}`;
    return limits && { limiter: clients, key: principal.name, limits, place };
  }
  const limits = rules.perSession;
  if (!limits) return undefined;
  // Requests without a session count as one session of their caller.
  const key = !session || isOfOneRequest(session) ? policyNameOf(principal) : `:${session.key}`;
  return { limiter: sessions, key, limits, place: 'limits.per_session' };
}

/** Continues with an admitted call. When the call ends, notifies its limiter without delaying the reply. */
function proceed(
  resolved: ResolvedCall,
  next: Parameters<Step>[1],
  admission: CallAdmission,
  limited: Limited,
): ReturnType<Step> {
  if (admission.kind === 'refused') throw refusal(resolved.call.principal, admission, limited);
  return whenEnded(
    () => {
      throwIfCancelled(resolved.call);
      return next(resolved);
    },
    () => admission.leave(),
  );
}

function refusal(
  principal: Principal,
  { by, retryAfterMs }: Extract<CallAdmission, { kind: 'refused' }>,
  { limits: { maxConcurrentCalls, rate }, place }: Limited,
): HubError {
  const caller =
    principal.kind === 'client' ? `the client ${JSON.stringify(principal.name)}` : 'this session';
  const [why, key] =
    by === 'rate'
      ? [`makes more than ${rate?.calls} calls in ${(rate?.perMs ?? 0) / 1000} s`, 'rate']
      : [`has ${maxConcurrentCalls} calls in progress, its maximum`, 'max_concurrent_calls'];
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new HubError(
    'HUB_LIMIT_REACHED',
    `${caller} ${why}. Try again in ${seconds} s, or raise ${place}.${key} in the config`,
    { data: { retryable: true, retryAfterMs, limit: `${place}.${key}` } },
  );
}
