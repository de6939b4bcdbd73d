import { type Clock, HubError, isObject } from '#core';
import {
  type Answer,
  type Notification,
  RpcError,
  encodeCall,
  errorAnswer,
  membersOf,
  rawText,
  rpcCodes,
  splice,
  stringAt,
} from '#jsonrpc';
import type { Exchange, Question } from '#upstream';
import { isClientMethod, refusedCapability } from './capabilities.ts';
import type { SessionState } from '../session.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { type UrlElicitations, keepPage } from './url-elicitations.ts';

/** Requests of servers on their way to clients that have a session, and the answers back. */
export interface ClientRequests {
  /** Passes a server's request on. The server is answered whatever becomes of it. */
  forward(question: Question, session: SessionState, exchange: Exchange): void;
  /** Asks a client; `params` is JSON text. Its answer, or a rejection with HubError. */
  ask(
    session: SessionState,
    method: string,
    params: string | undefined,
    exchange: Exchange,
  ): { readonly answer: Promise<Answer>; cancel(reason: string): void };
  /** A client has answered. */
  answered(session: SessionState, answer: Answer): void;
  /** A client says how far it is with what it was asked. */
  progressed(session: SessionState, notification: Notification): void;
  /** A server does not want to know any more. */
  withdrawn(source: object, notification: Notification): void;
  /** Gives up what a server has asked: it is gone, and nobody waits for the answers. */
  sourceGone(source: object): void;
}

/** People are asked: they may take their time, but a dialog that was closed must not stay for ever. */
const askTimeoutMs = 10 * 60_000;
/** More open requests to one client are refused. */
const maxAsks = 100;

type Open = {
  /** Undefined where the hub asks by itself. */
  readonly question: Question | undefined;
  /** The server's own id, as JSON text. */
  readonly serverId: string | undefined;
  /** How the server wants to hear of progress, as JSON text. */
  readonly progressToken: string | undefined;
  settle(answer: Answer): void;
  giveUp(reason: string, tellClient?: boolean): void;
};

export function createClientRequests(needs: {
  readonly clock: Pick<Clock, 'after'>;
  readonly tasks: Pick<Tasks, 'askedAs'>;
  readonly urlElicitations: UrlElicitations;
}): ClientRequests {
  let lastId = 0;
  const open = new Map<string, { readonly session: SessionState; readonly ask: Open }>();

  function begin(
    session: SessionState,
    exchange: Exchange,
    about: Pick<Open, 'question' | 'serverId' | 'progressToken'>,
    settle: (answer: Answer) => void,
    fail: (error: HubError) => void,
    send: (id: string) => Buffer,
  ): Open {
    const id = String(++lastId);
    const over = (): boolean => {
      timeout[Symbol.dispose]();
      session.clientRequests.delete(id);
      session.asksChanged();
      return open.delete(id);
    };
    const ask: Open = {
      ...about,
      settle(answer) {
        if (over()) settle(answer);
      },
      giveUp(reason, tellClient = true) {
        if (!over()) return;
        if (tellClient)
          exchange.related(
            encodeCall(undefined, 'notifications/cancelled', { requestId: Number(id), reason }),
          );
        fail(new HubError('HUB_CLIENT_GONE', `the client did not answer: ${reason}`));
      },
    };
    const timeout = needs.clock.after(askTimeoutMs, () =>
      ask.giveUp(`nobody answered within ${askTimeoutMs / 60_000} minutes`),
    );
    session.clientRequests.set(id, ask);
    session.asksChanged();
    open.set(id, { session, ask });
    exchange.related(send(id));
    return ask;
  }

  function checkRoom(session: SessionState): void {
    if (session.clientRequests.size >= maxAsks)
      throw new HubError(
        'HUB_INPUTS_FULL',
        `the client has ${maxAsks} unanswered requests already`,
        { data: { retryable: true } },
      );
  }

  return {
    forward(question, session, exchange) {
      const { request, source, answer } = question;
      const { bytes } = request;
      const serverId = rawText(bytes, request.id);
      try {
        const refused = refusedCapability(capabilitiesOf(session), request);
        if (refused !== undefined) throw lacking(request.method, refused);
        // What no revision knows, a client and a server that it chose may have agreed on.
        if (session.view === 'all' && !isClientMethod(request.method))
          throw new RpcError(
            rpcCodes.methodNotFound,
            'HUB_REQUEST_INVALID',
            `${JSON.stringify(request.method)} is no method of clients`,
          );
        checkRoom(session);
      } catch (error) {
        answer(errorAnswer(serverId, error));
        return;
      }
      keepPage(request, source, session, needs.urlElicitations);
      const params = membersOf(bytes, request.params);
      const token = membersOf(bytes, params?.get('_meta'))?.get('progressToken');
      begin(
        session,
        exchange,
        { question, serverId, progressToken: token && rawText(bytes, token) },
        reply => {
          if (params?.has('task')) needs.tasks.askedAs(source, reply, session);
          answer(
            reply.id ? splice(reply.bytes, [{ span: reply.id, text: serverId }]) : reply.bytes,
          );
        },
        error => answer(errorAnswer(serverId, error)),
        id =>
          splice(bytes, [
            { span: request.id, text: id },
            ...(token ? [{ span: token, text: id }] : []),
          ]),
      );
    },

    ask(session, method, params, exchange) {
      checkRoom(session);
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      const about = { question: undefined, serverId: undefined, progressToken: undefined };
      const ask = begin(session, exchange, about, resolve, reject, id =>
        Buffer.from(
          `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${params === undefined ? '' : `,"params":${params}`}}`,
        ),
      );
      return { answer: promise, cancel: reason => ask.giveUp(reason) };
    },

    answered(session, answer) {
      const id = answer.id && rawText(answer.bytes, answer.id);
      const entry = id === undefined ? undefined : open.get(id);
      // The id of another session's request is as unknown to this one as any other.
      if (entry?.session === session) entry.ask.settle(answer);
    },

    progressed(session, notification) {
      const token = membersOf(notification.bytes, notification.params)?.get('progressToken');
      const entry = token && open.get(rawText(notification.bytes, token));
      if (!token || entry?.session !== session) return;
      const { question, progressToken } = entry.ask;
      if (progressToken === undefined) return;
      question?.tell(splice(notification.bytes, [{ span: token, text: progressToken }]));
    },

    withdrawn(source, notification) {
      const params = membersOf(notification.bytes, notification.params);
      const span = params?.get('requestId');
      if (!span) return;
      const serverId = rawText(notification.bytes, span);
      const reason =
        stringAt(notification.bytes, params?.get('reason')) ?? 'the server withdrew it';
      for (const { ask } of open.values())
        if (ask.question?.source === source && ask.serverId === serverId) ask.giveUp(reason);
    },

    sourceGone(source) {
      for (const { ask } of Array.from(open.values()))
        if (ask.question?.source === source) ask.giveUp('the server is gone');
    },
  };
}

/** What the client of a session can do. */
export function capabilitiesOf({ client }: SessionState): unknown {
  const capabilities: unknown = client && JSON.parse(client.capabilities);
  return isObject(capabilities) ? capabilities : {};
}

/** The refusal of a request that the client cannot answer (MCP 2025-11-25, client features). */
export function lacking(method: string, capability: string): HubError {
  return new RpcError(
    rpcCodes.methodNotFound,
    'HUB_CAPABILITY_MISSING',
    `the client has not declared the capability "${capability}", which ${method} needs`,
    { capability },
  );
}
