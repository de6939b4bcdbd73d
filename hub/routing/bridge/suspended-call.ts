import { HubError, isObject, retryable } from '#core';
import { encodeResult, membersOf, rawText, readAnswer, rpcCodes, valueOf } from '#jsonrpc';
import { invalidState } from '#mcp';
import type { Running, Server } from '#servers';
import type { Caller, ForwardedRequest, Owner, ResponseStream } from '#upstream';
import { type Call, type ResolvedCall, type ServerReply, FailedCall } from '../call.ts';
import { callNeeds, lacking, refusedCapability } from '../events/client-capabilities.ts';
import { pagesWanted } from '../events/ownership.ts';
import { isWanted, setWork } from '../session.ts';
import { withTrace } from '../trace.ts';
import { clientMetadata, toModernResult, withoutClientMetadata, withoutTask } from './results.ts';
import { carrierOf, createOpenQuestions, refuse } from './open-questions.ts';
import { outcomeOf } from './send.ts';
import type {
  SuspendedCall,
  SuspendedCallNeeds,
  SuspendedCallOptions,
} from './suspended-call-types.ts';

/**
 * Maximum time for a client to return with answers, in ms. A person may have to answer. For a shared server,
 * `input_timeout` of its entry applies instead, because no other client can be asked meanwhile.
 */
const lifeMs = 10 * 60_000;

/** Maximum number of times that a server may send a client to pages before it returns a result. */
const maxVisits = 10;

/** Maximum number of open questions of a call, as for a client with a session. Further questions are refused. */
const maxQuestions = 100;

/** Time in ms to wait for further questions of the server, so that one result asks the client all of them. */
const gatherMs = 10;

/** The result of a client's request: the server's questions, or if `done`, the server's answer. */
type Outcome = ServerReply & { readonly done: boolean };

/** Discards the server's messages about the call while no request is open. */
const nowhere: ResponseStream = { send() {} };

/** Sends a call to a server with sessions. Throws HubError if the server cannot accept the call. */
export function createSuspendedCall(
  options: SuspendedCallOptions,
  { call: opening, edits: ownEdits, waitedMs }: ResolvedCall,
  server: Server,
  { upstream }: Running,
  needs: SuspendedCallNeeds,
): SuspendedCall {
  const { method } = opening.request;
  /** The client's open request; the last request while the client is away. */
  let call = opening;
  let attachedMs = 0;
  let away = false;
  let round = 0;
  let turn = newTurn();
  let flushing = false;
  let isAnswered = false;
  let expiry: Disposable | undefined;
  const questions = createOpenQuestions();
  /** Number of questions that the hub is answering until the call ends. */
  let answering = 0;
  const ended = new AbortController();
  /** The capability that a question of the server requires and that the client did not declare. */
  let lacked: string | undefined;

  function take(serverRequest: ForwardedRequest): void {
    const { request, answerByHub } = serverRequest;
    const refused = options.mayAsk
      ? refusedCapability(options.capabilities, request)
      : `input_required in the answer to ${method}`;
    if (refused !== undefined) {
      if (answerByHub) return byHub(answerByHub);
      if (options.mayAsk) lacked = refused;
      return refuse(serverRequest, lacking(request.method, refused));
    }
    if (questions.size >= maxQuestions)
      return refuse(
        serverRequest,
        retryable('HUB_INPUTS_FULL', `the call has ${maxQuestions} unanswered questions already`),
      );
    questions.add(serverRequest);
    if (flushing) return;
    flushing = true;
    needs.clock.after(gatherMs, () => {
      flushing = false;
      if (!away && questions.size > 0) askClient();
    });
  }

  function byHub(answer: (signal: AbortSignal) => Promise<void>): void {
    answering++;
    void answer(ended.signal).then(() => answering--);
  }

  /** Unanswered calls of the client. The messages of the server may be about any of them. */
  const callsAtWork = () => needs.callsWith(suspended).filter(one => !one.isAnswered);

  const owner: Owner = {
    identity: options.client,
    get hasOpenRequest() {
      return needs.hasOpenRequest(suspended);
    },
    serverRequest(serverRequest) {
      // If the transport does not say which call the question belongs to, any call of the client can carry it.
      if (typeof serverRequest.about === 'object') take(serverRequest);
      else carrierOf(callsAtWork(), suspended).take(serverRequest);
    },
    notification(notification, responseStream) {
      const { method, bytes, params, about } = notification;
      // With several calls in flight, the call of the message is ambiguous. A lost message does no harm.
      if (typeof about !== 'object' && callsAtWork().length > 1) return;
      // Stateless clients have no notification for a completed page, and get logs only if the request set a level.
      if (method === 'notifications/elicitation/complete') return;
      const isLog = method === 'notifications/message';
      const { logLevel } = options;
      if (!isLog || (logLevel && isWanted(logLevel, valueOf(bytes, params))))
        responseStream.send(bytes);
    },
  };

  const caller: Caller = { owner, responseStream: nowhere, progressToken: undefined };
  /** Returns how long the server has worked on the open request, in milliseconds. */
  const serverMs = () => needs.clock.monotonic() - attachedMs;

  /** Makes `next` the open request of the call. */
  function attach(next: Call): void {
    const token = next.meta?.get('progressToken');
    call = next;
    away = false;
    caller.principal = next.principal;
    caller.responseStream = next.responseStream;
    caller.progressToken = token && rawText(next.request.bytes, token);
    setWork(next.cancellation, { cancel: reason => giveUp(reason ?? 'the client cancelled') });
    attachedMs = needs.clock.monotonic();
    if (next.trace) next.trace.sentMs ??= attachedMs;
  }

  /** Answers the client's request with the server's questions, and waits for the next request of the client. */
  function askClient(): void {
    try {
      needs.suspend(suspended);
    } catch (error) {
      return questions.refuseAll(error);
    }
    away = true;
    round++;
    caller.responseStream = nowhere;
    caller.progressToken = undefined;
    const { instance, inputTimeoutMs } = server.config;
    const waitMs = instance === 'session' ? lifeMs : inputTimeoutMs;
    expiry = needs.clock.after(waitMs, () =>
      giveUp(`the client did not come back within ${waitMs / 1000} seconds`),
    );
    const asking = turn;
    turn = newTurn();
    const bytes = inputRequired(questions.inputRequests(), round, options.visits, waitMs);
    asking.resolve({ bytes, outcome: 'ok', serverMs: serverMs(), done: false });
  }

  function inputRequired(requests: string, ofRound: number, visits: number, validMs: number) {
    const state = needs.states.issue({ id: options.id, round: ofRound, visits }, call, validMs);
    const result = `{"resultType":"input_required","inputRequests":${requests},"requestState":"${state}"}`;
    return encodeResult(call.id, result);
  }

  /** Moves the remaining questions to other calls of the client. */
  function handOver(): void {
    const others = callsAtWork();
    if (others.length === 0)
      questions.refuseAll(invalidState('is of no use: the server has answered'));
    for (const question of questions.takeAll()) carrierOf(others, suspended).take(question);
  }

  function giveUp(reason: string): void {
    expiry?.[Symbol.dispose]();
    ended.abort(new HubError('HUB_CALL_CANCELLED', reason));
    needs.forget(suspended);
    questions.refuseAll(invalidState(`was not used: ${reason}`));
    relayed.cancel(reason);
  }

  /** Converts the server's answer to the answer of the client's open request. */
  function finished(bytes: Buffer): Buffer {
    const answer = readAnswer(bytes);
    // A server may return the refusal of its question as its own error, which the client would misread.
    const code = answer.failed ? membersOf(bytes, answer.payload)?.get('code') : undefined;
    if (lacked !== undefined && valueOf(bytes, code) === rpcCodes.methodNotFound)
      return callNeeds(lacked, call.id);
    const pages = pagesWanted(answer);
    if (!pages) return toModernResult(bytes, call.id, method);
    const { elicitation } = options.capabilities;
    if (!isObject(elicitation) || !isObject(elicitation['url']))
      return callNeeds('elicitation.url', call.id);
    requirePages(pages, options.visits, server.config.name);
    // No call waits at the server: the next request starts a new call.
    return inputRequired(JSON.stringify(pages), 0, options.visits + 1, lifeMs);
  }

  function reply(outcome: Outcome): ServerReply {
    if (!outcome.done) return outcome;
    try {
      return { ...outcome, bytes: finished(outcome.bytes) };
    } catch (error) {
      throw new FailedCall(error, outcome.serverMs);
    }
  }

  const edits = [...ownEdits, ...withoutClientMetadata(opening), ...withoutTask(opening)];
  const relayed = upstream.relay(
    {
      request: opening.request,
      edits: withTrace(opening, edits, clientMetadata),
      progressToken: opening.meta?.get('progressToken'),
      answered(answer): Outcome {
        isAnswered = true;
        return {
          bytes: answer.bytes,
          outcome: outcomeOf(call, answer),
          serverMs: serverMs(),
          done: true,
        };
      },
      failed: error => new FailedCall(error, serverMs()),
    },
    caller,
    server.config.callTimeoutMs,
    waitedMs,
  );
  const suspended: SuspendedCall = {
    id: options.id,
    server,
    client: options.client,
    requestBytes: opening.request.bytes.length,
    mayAsk: options.mayAsk,
    get isAway() {
      return away;
    },
    get isAnswered() {
      return isAnswered;
    },
    get hasOpenRequest() {
      return questions.size > 0 || answering > 0;
    },
    take,
    first: turn.promise.then(reply),
    async resume(next, answered, responses) {
      if (!away || answered !== round) throw invalidState('was used already');
      expiry?.[Symbol.dispose]();
      needs.forget(suspended);
      attach(next);
      const { promise } = turn;
      questions.answer(next.request.bytes, responses);
      // Asks the client again for the questions that it did not answer.
      if (questions.size > 0 && isAnswered) handOver();
      else if (questions.size > 0) askClient();
      return reply(await promise);
    },
    withdrawn(connection, serverId) {
      const error = new HubError('HUB_CLIENT_GONE', 'the server withdrew it');
      questions.refuse(connection, serverId, error);
    },
    giveUp,
  };
  attach(opening);
  relayed.answer.then(
    answer => {
      needs.over(suspended);
      // A remaining question belongs to another call. It stays here if the client was asked it and may still answer.
      if (!away || callsAtWork().length === 0) handOver();
      turn.resolve(answer);
    },
    (error: unknown) => {
      needs.over(suspended);
      turn.reject(error);
    },
  );
  return suspended;
}

function newTurn(): PromiseWithResolvers<Outcome> {
  const turn = Promise.withResolvers<Outcome>();
  turn.promise.catch(() => undefined); // A failure is reported by the client's next request, if any.
  return turn;
}

/** Throws HUB_SERVER_PROTOCOL if the client cannot visit the pages, or has visited too many for this call. */
function requirePages(pages: object, visits: number, server: string): void {
  const isEmpty = Object.keys(pages).length === 0;
  if (!isEmpty && visits < maxVisits) return;
  throw new HubError(
    'HUB_SERVER_PROTOCOL',
    isEmpty
      ? `${server} wants pages to be visited and names none`
      : `${server} sent the client to pages ${maxVisits} times and gave no result`,
    { data: { server } },
  );
}
