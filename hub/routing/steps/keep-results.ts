import { hashOf } from '#approvals';
import type { ExactCache } from '#cache';
import { type Clock, HubError } from '#core';
import { encodeResult, membersOf, rawText, readAnswer, stringAt, whole } from '#jsonrpc';
import { principalKey } from '#policy';
import { type Server, isKept, toolHints } from '#servers';
import {
  type Answerer,
  type Call,
  type Reply,
  type ResolvedCall,
  type Step,
  hubReply,
} from '../call.ts';
import { ownName } from '../bridge/results.ts';
import { cancelCall, createCancellation, whileCancellable } from '../session.ts';
import { whenEnded } from '../answering.ts';
import { finalArguments } from './final-arguments.ts';
import { type KeptOfServer, createKeptResults } from './kept-results.ts';

type Needs = {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly instanceFor: (server: Server, call: Call) => Server;
};

/** Value of a result that only its own caller may get. Other callers that wait for it send their calls themselves. */
const notForOthers = '';

/**
 * Creates the step that answers calls of read-only tools with cached results of equal calls, for the tools in `cache`
 * of a server's entry. Equal calls at the same time are sent once. A call of any other tool drops the results of its
 * server, before the call is sent and after its answer. Comes after the policy and the approval, so that each call is
 * decided, and before admission, so that a cached result needs no running server.
 */
export function createKeeping({ clock, instanceFor }: Needs) {
  const kept = createKeptResults({ clock });

  const step: Step = (resolved, next) => {
    const { server, call, edits } = resolved;
    const settings = server?.config.cache;
    if (!server || !settings) return next(resolved);
    const { method } = call.request;
    // A task may change data long after its call was answered.
    if (method.startsWith('tasks/')) return dropAround(server, resolved, next);
    if (method !== 'tools/call') return next(resolved);
    const name = ownName(call, edits);
    const worker = instanceFor(server, call);
    if (!toolHints(worker, name).readOnlyHint) return dropAround(server, resolved, next);
    if (name === undefined || !isKept(worker, name)) return next(resolved);
    if (!mayAnswerFor(worker) || isContinued(call)) return next(resolved);
    const key = keyOf(resolved, name, settings.per);
    if (key === undefined) return next(resolved);
    const results = kept.of(server, worker, settings);
    const cache = results.open();
    if (cache instanceof Promise)
      return cache.then(opened => answer(resolved, next, { key, cache: opened, results }));
    return answer(resolved, next, { key, cache, results });
  };

  function dropAround(server: Server, resolved: ResolvedCall, next: Answerer) {
    kept.drop(server);
    // A read during the call may have returned the state before the call.
    return whenEnded(
      () => next(resolved),
      () => kept.drop(server),
    );
  }

  return { step, stats: (server: Server) => kept.stats(server) };
}

type Keeping = {
  readonly key: string;
  readonly cache: ExactCache;
  readonly results: KeptOfServer;
};

function answer(resolved: ResolvedCall, next: Answerer, { key, cache, results }: Keeping) {
  const { call } = resolved;
  const found = cache.hit(key);
  if (found && !(found instanceof Promise)) return replyWith(call, found.value);
  return fill(resolved, next, { key, cache, results });
}

async function fill(
  resolved: ResolvedCall,
  next: Answerer,
  { key, cache, results }: Keeping,
): Promise<Reply> {
  const { call } = resolved;
  const { ttlMs } = results.settings;
  let own: Reply | undefined;
  const found = await whileCancellable(call, signal =>
    cache.getOrFill(
      key,
      { tag: '', ttlMs },
      async ended => {
        own = await next(detached(resolved, ended));
        const value = resultIn(own);
        return { value: value ?? notForOthers, isKept: value !== undefined };
      },
      signal,
    ),
  );
  if (own) return own;
  return found.value === notForOthers ? await next(resolved) : replyWith(call, found.value);
}

/**
 * Detaches a call from its client's cancellation: it continues while others wait for its result, and is cancelled by
 * `ended`.
 */
function detached(resolved: ResolvedCall, ended: AbortSignal): ResolvedCall {
  const { call } = resolved;
  const cancellation = createCancellation();
  ended.addEventListener('abort', () =>
    cancelCall(cancellation, 'no client is waiting for the result'),
  );
  const { responseStream: stream } = call;
  const responseStream = {
    traceparent: stream.traceparent,
    send(bytes: Buffer) {
      if (!call.cancellation.isCancelled) stream.send(bytes);
    },
  };
  return { ...resolved, call: { ...call, cancellation, responseStream } };
}

const replyWith = ({ id }: Call, result: string): Reply => hubReply(encodeResult(id, result));

/** Returns the result as JSON text; undefined if it is an error, a task, a question to the client, or not UTF-8. */
function resultIn({ outcome, bytes: reply }: Reply): string | undefined {
  if (outcome !== 'ok') return undefined;
  const bytes = whole(reply);
  const { payload, failed } = readAnswer(bytes);
  const members = failed ? undefined : membersOf(bytes, payload);
  if (!members || members.has('task')) return undefined;
  if ((stringAt(bytes, members.get('resultType')) ?? 'complete') !== 'complete') return undefined;
  const text = rawText(bytes, payload);
  const isExact = Buffer.from(text).equals(bytes.subarray(payload.start, payload.end));
  return isExact ? text : undefined;
}

/**
 * Returns the cache key of a call. Undefined if the arguments cannot be compared, for example with a duplicate member.
 */
function keyOf(resolved: ResolvedCall, tool: string, per: 'client' | 'all'): string | undefined {
  const { principal, era } = resolved.call;
  try {
    const caller = per === 'all' ? '' : principalKey(principal);
    // The two eras have different results.
    return hashOf(JSON.stringify([tool, caller, era, finalArguments(resolved)]));
  } catch (error) {
    if (error instanceof HubError) return undefined;
    throw error;
  }
}

/** True for a call that creates a task, or that answers a question of an earlier call. */
const isContinued = ({ params }: Call): boolean =>
  params.has('task') || params.has('requestState') || params.has('inputResponses');

/** True if a server's cached results may be used: the server runs, or would start for the call. */
function mayAnswerFor({ config, status, held, closed, running }: Server): boolean {
  if (!config.enabled || closed || held) return false;
  return running !== undefined || (status.state === 'stopped' && !status.byHand);
}
