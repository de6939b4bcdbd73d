import { type Clock, HubError, retryable, setBounded } from '#core';
import {
  type Answer,
  type Notification,
  encodeCall,
  errorAnswer,
  membersOf,
  rawText,
  splice,
} from '#jsonrpc';
import type { ForwardedRequest, ResponseStream, ServerConnection } from '#upstream';
import { methodNotFound } from '../call.ts';
import type { SessionState } from '../session.ts';
import type { Tasks } from '../tasks/tasks.ts';
import {
  capabilitiesOf,
  isClientMethod,
  lacking,
  refusedCapability,
} from './client-capabilities.ts';
import { type UrlElicitations, keepPage } from './ownership.ts';

export type ClientRequests = ReturnType<typeof createClientRequests>;

/** Maximum time for a client to answer, in ms: a person may take time, but a dialog must not stay open forever. */
const requestTimeoutMs = 10 * 60_000;
/** Maximum number of open requests per client. Further requests are refused. */
const maxOpenRequests = 100;
/** Maximum number of tasks per client whose progress is forwarded to servers. */
const maxFollowed = 1_000;

/** Sends a server the progress of its request to a client. */
type Progress = Pick<ForwardedRequest, 'tell'> & {
  /** The server's progress token, as JSON text. */
  readonly token: string;
};

type OpenRequest = {
  readonly session: SessionState;
  /** The server's request; undefined if the hub itself made the request. */
  readonly forwarded?: ForwardedRequest;
  /** Undefined if the server did not ask for progress. */
  readonly progress?: Progress | undefined;
  /** The server's own id of its request, as JSON text. */
  readonly serverId?: string;
  readonly settle: (answer: Answer) => void;
  readonly fail: (error: HubError) => void;
};

/** Forwards requests of servers to clients with sessions, and the answers back. */
export function createClientRequests(needs: {
  readonly clock: Pick<Clock, 'after'>;
  readonly tasks: Pick<Tasks, 'askedAs'>;
  readonly urlElicitations: UrlElicitations;
}) {
  let lastId = 0;
  const open = new Map<
    string,
    OpenRequest & { readonly over: () => boolean; readonly giveUp: (reason: string) => void }
  >();

  /**
   * Requests that clients answered with a task, by the hub's id. Their progress tokens stay valid as long as the task
   * (MCP 2025-11-25, progress).
   */
  const ofTasks = new WeakMap<SessionState, Map<string, Progress>>();

  /** Forwards the progress of a task that the client's answer created. */
  function follow(session: SessionState, { bytes, id }: Answer, progress: Progress): void {
    if (!id) return;
    const own = ofTasks.get(session) ?? new Map<string, Progress>();
    ofTasks.set(session, own);
    setBounded(own, rawText(bytes, id), progress, maxFollowed);
  }

  function begin(
    openRequest: OpenRequest,
    responseStream: ResponseStream,
    send: (id: string) => Buffer,
  ): (reason: string) => void {
    const { session, forwarded } = openRequest;
    const ended = forwarded?.connection.ended;
    const id = String(++lastId);
    const over = (): boolean => {
      timeout[Symbol.dispose]();
      ended?.removeEventListener('abort', gone);
      session.clientRequests.delete(id);
      session.clientRequestsChanged();
      return open.delete(id);
    };
    const giveUp = (reason: string): void => {
      if (!over()) return;
      const params = { requestId: Number(id), reason };
      responseStream.send(encodeCall(undefined, 'notifications/cancelled', params));
      openRequest.fail(new HubError('HUB_CLIENT_GONE', `the client did not answer: ${reason}`));
    };
    const timeout = needs.clock.after(requestTimeoutMs, () =>
      giveUp(`no answer within ${requestTimeoutMs / 60_000} minutes`),
    );
    const gone = () => giveUp('the server is gone');
    ended?.addEventListener('abort', gone);
    session.clientRequests.set(id, { giveUp });
    session.clientRequestsChanged();
    open.set(id, { ...openRequest, over, giveUp });
    responseStream.send(send(id));
    return giveUp;
  }

  function checkRoom(session: SessionState): void {
    if (session.clientRequests.size >= maxOpenRequests)
      throw retryable(
        'HUB_INPUTS_FULL',
        `the client has ${maxOpenRequests} unanswered requests already`,
      );
  }

  function checkPresent(session: SessionState): void {
    if (session.isOver) throw new HubError('HUB_CLIENT_GONE', 'the client has left');
    checkRoom(session);
  }

  /** Lets the hub answer in place of the client. The client's calls do not time out meanwhile. */
  function byHub(session: SessionState, answer: (signal: AbortSignal) => Promise<void>): void {
    const id = `hub ${++lastId}`;
    const ended = new AbortController();
    session.clientRequests.set(id, {
      giveUp: reason => ended.abort(new HubError('HUB_CALL_CANCELLED', reason)),
    });
    void answer(ended.signal).then(() => session.clientRequests.delete(id));
  }

  return {
    /** Forwards a server's request to a client. The server always gets an answer. */
    forward(
      forwarded: ForwardedRequest,
      session: SessionState,
      responseStream: ResponseStream,
    ): void {
      const { request, source, answer } = forwarded;
      const { bytes } = request;
      const serverId = rawText(bytes, request.id);
      const fail = (error: unknown) => answer(errorAnswer(serverId, error));
      try {
        const refused = refusedCapability(capabilitiesOf(session), request);
        if (refused !== undefined) {
          checkRoom(session);
          if (forwarded.answerByHub) return byHub(session, forwarded.answerByHub);
          throw lacking(request.method, refused);
        }
        // A client and the server that it chose may have agreed on a method that no revision defines.
        if (session.endpoint === 'all' && !isClientMethod(request.method))
          throw methodNotFound(`${JSON.stringify(request.method)} is not a method of clients`);
        checkPresent(session);
      } catch (error) {
        fail(error);
        return;
      }
      keepPage(request, source, session, needs.urlElicitations);
      const params = membersOf(bytes, request.params);
      const token = membersOf(bytes, params?.get('_meta'))?.get('progressToken');
      const progress = token && { tell: forwarded.tell, token: rawText(bytes, token) };
      const settle = (reply: Answer) => {
        const isTask = params?.has('task') && needs.tasks.askedAs(source, reply, session);
        if (isTask && progress) follow(session, reply, progress);
        answer(reply.id ? splice(reply.bytes, [{ span: reply.id, text: serverId }]) : reply.bytes);
      };
      const openRequest = { session, forwarded, serverId, progress, settle, fail };
      begin(openRequest, responseStream, text =>
        splice(bytes, [{ span: request.id, text }, ...(token ? [{ span: token, text }] : [])]),
      );
    },

    /** Sends a request to a client; `params` is JSON text. Returns the client's answer, or rejects with HubError. */
    sendToClient(
      session: SessionState,
      method: string,
      params: string | undefined,
      responseStream: ResponseStream,
    ): { readonly answer: Promise<Answer>; cancel(reason: string): void } {
      checkPresent(session);
      const { promise, resolve: settle, reject: fail } = Promise.withResolvers<Answer>();
      const more = params === undefined ? '' : `,"params":${params}`;
      const cancel = begin({ session, settle, fail }, responseStream, id =>
        Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${more}}`),
      );
      return { answer: promise, cancel };
    },

    answered(session: SessionState, answer: Answer): void {
      const openRequest = answer.id && open.get(rawText(answer.bytes, answer.id));
      // The id of another session's request counts as unknown.
      if (openRequest?.session === session && openRequest.over()) openRequest.settle(answer);
    },

    progressed(session: SessionState, { bytes, params }: Notification): void {
      const span = membersOf(bytes, params)?.get('progressToken');
      if (!span) return;
      const id = rawText(bytes, span);
      const asked = open.get(id);
      const progress = asked?.session === session ? asked.progress : ofTasks.get(session)?.get(id);
      progress?.tell(splice(bytes, [{ span, text: progress.token }]));
    },

    /** The server cancelled its request with this id, which is JSON text. */
    withdrawn(connection: ServerConnection, id: string, reason: string): void {
      for (const { forwarded, serverId, giveUp } of open.values())
        if (forwarded?.connection === connection && serverId === id) giveUp(reason);
    },

    sourceGone(source: object): void {
      for (const { forwarded, giveUp } of Array.from(open.values()))
        if (forwarded?.source === source) giveUp('the server is gone');
    },
  };
}
