import { type Clock, HubError, isObject } from '#core';
import {
  type Answer,
  type Notification,
  type Request,
  RpcError,
  encodeCall,
  encodeError,
  errorAnswer,
  membersOf,
  rawText,
  rpcCodes,
  splice,
  stringAt,
} from '#jsonrpc';
import type { ResponseStream, ForwardedRequest } from '#upstream';
import type { SessionState } from '../session.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { type UrlElicitations, keepPage } from './url-elicitations.ts';

/** Forwards requests of servers to clients with sessions, and the answers back. */
export interface ClientRequests {
  /** Forwards a server's request. The server always gets an answer. */
  forward(forwarded: ForwardedRequest, session: SessionState, responseStream: ResponseStream): void;
  /** Sends a request to a client; `params` is JSON text. Returns the client's answer, or rejects with HubError. */
  sendToClient(
    session: SessionState,
    method: string,
    params: string | undefined,
    responseStream: ResponseStream,
  ): { readonly answer: Promise<Answer>; cancel(reason: string): void };
  /** Handles an answer of a client. */
  answered(session: SessionState, answer: Answer): void;
  /** Handles a progress notification of a client. */
  progressed(session: SessionState, notification: Notification): void;
  /** The server cancelled its request. */
  withdrawn(source: object, notification: Notification): void;
  /** Cancels all requests of a server that is gone. */
  sourceGone(source: object): void;
}

/**
 * Maximum time for a client to answer, in ms. A person may take time, but a closed dialog must not stay open forever.
 */
const requestTimeoutMs = 10 * 60_000;
/** Maximum number of open requests per client. Further requests are refused. */
const maxOpenRequests = 100;

type Open = {
  /** Undefined if the hub itself made the request. */
  readonly forwarded: ForwardedRequest | undefined;
  /** The server's own id, as JSON text. */
  readonly serverId: string | undefined;
  /** The server's progress token, as JSON text. */
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
  const open = new Map<string, { readonly session: SessionState; readonly openRequest: Open }>();

  function begin(
    session: SessionState,
    responseStream: ResponseStream,
    about: Pick<Open, 'forwarded' | 'serverId' | 'progressToken'>,
    settle: (answer: Answer) => void,
    fail: (error: HubError) => void,
    send: (id: string) => Buffer,
  ): Open {
    const id = String(++lastId);
    const over = (): boolean => {
      timeout[Symbol.dispose]();
      session.clientRequests.delete(id);
      session.clientRequestsChanged();
      return open.delete(id);
    };
    const openRequest: Open = {
      ...about,
      settle(answer) {
        if (over()) settle(answer);
      },
      giveUp(reason, tellClient = true) {
        if (!over()) return;
        if (tellClient)
          responseStream.send(
            encodeCall(undefined, 'notifications/cancelled', { requestId: Number(id), reason }),
          );
        fail(new HubError('HUB_CLIENT_GONE', `the client did not answer: ${reason}`));
      },
    };
    const timeout = needs.clock.after(requestTimeoutMs, () =>
      openRequest.giveUp(`nobody answered within ${requestTimeoutMs / 60_000} minutes`),
    );
    session.clientRequests.set(id, openRequest);
    session.clientRequestsChanged();
    open.set(id, { session, openRequest });
    responseStream.send(send(id));
    return openRequest;
  }

  function checkRoom(session: SessionState): void {
    if (session.clientRequests.size >= maxOpenRequests)
      throw new HubError(
        'HUB_INPUTS_FULL',
        `the client has ${maxOpenRequests} unanswered requests already`,
        { data: { retryable: true } },
      );
  }

  return {
    forward(forwarded, session, responseStream) {
      const { request, source, answer } = forwarded;
      const { bytes } = request;
      const serverId = rawText(bytes, request.id);
      try {
        const refused = refusedCapability(capabilitiesOf(session), request);
        if (refused !== undefined) throw lacking(request.method, refused);
        // A client and the server that it chose may have agreed on a method that no revision defines.
        if (session.endpoint === 'all' && !isClientMethod(request.method))
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
        responseStream,
        { forwarded, serverId, progressToken: token && rawText(bytes, token) },
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

    sendToClient(session, method, params, responseStream) {
      checkRoom(session);
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      const about = { forwarded: undefined, serverId: undefined, progressToken: undefined };
      const openRequest = begin(session, responseStream, about, resolve, reject, id =>
        Buffer.from(
          `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${params === undefined ? '' : `,"params":${params}`}}`,
        ),
      );
      return { answer: promise, cancel: reason => openRequest.giveUp(reason) };
    },

    answered(session, answer) {
      const id = answer.id && rawText(answer.bytes, answer.id);
      const entry = id === undefined ? undefined : open.get(id);
      // The id of another session's request counts as unknown.
      if (entry?.session === session) entry.openRequest.settle(answer);
    },

    progressed(session, notification) {
      const token = membersOf(notification.bytes, notification.params)?.get('progressToken');
      const entry = token && open.get(rawText(notification.bytes, token));
      if (!token || entry?.session !== session) return;
      const { forwarded, progressToken } = entry.openRequest;
      if (progressToken === undefined) return;
      forwarded?.tell(splice(notification.bytes, [{ span: token, text: progressToken }]));
    },

    withdrawn(source, notification) {
      const params = membersOf(notification.bytes, notification.params);
      const span = params?.get('requestId');
      if (!span) return;
      const serverId = rawText(notification.bytes, span);
      const reason =
        stringAt(notification.bytes, params?.get('reason')) ?? 'the server withdrew it';
      for (const { openRequest } of open.values())
        if (openRequest.forwarded?.source === source && openRequest.serverId === serverId)
          openRequest.giveUp(reason);
    },

    sourceGone(source) {
      for (const { openRequest } of Array.from(open.values()))
        if (openRequest.forwarded?.source === source) openRequest.giveUp('the server is gone');
    },
  };
}

/** The capabilities of a session's client. */
export function capabilitiesOf({ client }: SessionState): unknown {
  const capabilities: unknown = client && JSON.parse(client.capabilities);
  return isObject(capabilities) ? capabilities : {};
}

/** The error for a request that the client does not support (MCP 2025-11-25, client features). */
export function lacking(method: string, capability: string): HubError {
  return new RpcError(
    rpcCodes.methodNotFound,
    'HUB_CAPABILITY_MISSING',
    `the client has not declared the capability "${capability}", which ${method} needs`,
    { capability },
  );
}

/** The client capability required for each server request (MCP 2025-11-25, client features). */
const needed: ReadonlyMap<string, string> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
  ['tasks/get', 'tasks'],
  ['tasks/result', 'tasks'],
  ['tasks/list', 'tasks'],
  ['tasks/cancel', 'tasks'],
]);

/** True for methods that servers may send to clients. */
export const isClientMethod = (method: string): boolean => needed.has(method);

/**
 * The required capability that the client has not declared; undefined if the client may be asked. The hub does not
 * judge methods that no revision defines.
 */
export function refusedCapability(
  capabilities: unknown,
  request: Pick<Request, 'bytes' | 'method' | 'params'>,
): string | undefined {
  const name = needed.get(request.method);
  if (name === undefined) return undefined;
  const declared = isObject(capabilities) ? capabilities[name] : undefined;
  if (!isObject(declared)) return name;
  if (name !== 'elicitation') return undefined;
  const mode = stringAt(request.bytes, membersOf(request.bytes, request.params)?.get('mode'));
  // An empty object means forms, the only mode before 2025-11-25.
  return mode === 'url' && !isObject(declared['url']) ? 'elicitation.url' : undefined;
}

/**
 * The error answer to a call whose server requires a capability that the client has not declared (MCP 2026-07-28,
 * errors). `capability` comes from `refusedCapability`; the id is JSON text.
 */
export function callNeeds(capability: string, id: string): Buffer {
  const requiredCapabilities = capability
    .split('.')
    .reduceRight<object>((inner, name) => ({ [name]: inner }), {});
  return encodeError(
    id,
    rpcCodes.missingCapability,
    `the server needs the capability "${capability}", which the client has not declared`,
    { code: 'HUB_CAPABILITY_MISSING', requiredCapabilities },
  );
}
