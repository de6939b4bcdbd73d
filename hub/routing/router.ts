import { type Clock, type JsonObject, type Log, HubError } from '#core';
import type { Naming } from '#config';
import {
  type Message,
  type Notification,
  type Request,
  RpcError,
  encodeCall,
  errorAnswer,
  membersOf,
  rawText,
  rpcCodes,
  splice,
  stringAt,
  valueOf,
} from '#rpc';
import { type ListKind, type Server, type Servers, describeServer } from '#servers';
import { createCatalog } from './catalog.ts';
import { createLevels } from './levels.ts';
import { createLists } from './lists.ts';
import { methodsOfAll, serversUri } from './methods/all.ts';
import { wantsLevel } from './methods/hub.ts';
import { methodsOfOne, pass } from './methods/one.ts';
import type { Collision } from './names.ts';
import type { Method, MethodNeeds } from './method.ts';
import type { Exchange, Session, SessionState, View } from './session.ts';
import { createSubscriptions } from './subscriptions.ts';

/** From clients to servers and back. */
export interface Router {
  /** Opens a session. `outlet` gets what the client is told outside its requests. */
  open(view: View, outlet: (bytes: Buffer) => void): Session;
  readonly sessionCount: number;
  /** Requests that are being answered. */
  readonly inFlight: number;
  collisions(): readonly Collision[];
  snapshot(): JsonObject;
}

export type RouterNeeds = {
  readonly servers: Servers;
  readonly log: Log;
  readonly clock: Pick<Clock, 'after'>;
  readonly hubVersion: string;
  readonly newId: () => string;
};

/** Changes of lists within this time reach the clients as one. */
const changeDelayMs = 100;

const changeMethods: Readonly<Record<ListKind, string>> = {
  tool: 'notifications/tools/list_changed',
  prompt: 'notifications/prompts/list_changed',
  resource: 'notifications/resources/list_changed',
  template: 'notifications/resources/list_changed',
};

const ownResources = [
  JSON.stringify({
    uri: serversUri,
    name: 'servers',
    title: 'Servers of this hub',
    description: 'The servers behind this hub, their states and what each offers.',
    mimeType: 'application/json',
  }),
];

/** Knows every open session, and tells each what concerns it. */
export function createRouter(naming: Naming, needs: RouterNeeds): Router {
  const { servers, log } = needs;
  /** By themselves, since a caller names its owner without a type. */
  const sessions = new Map<object, SessionState>();
  const levels = createLevels(() => sessions.values(), needs);
  const catalog = createCatalog(servers, naming, [serversUri]);
  const methodNeeds: MethodNeeds = {
    servers,
    catalog,
    lists: createLists(catalog, { resource: ownResources }),
    subscriptions: createSubscriptions(servers, needs),
    hubVersion: needs.hubVersion,
    logLevelChanged: () => servers.all.forEach(server => levels.update(server)),
    snapshot,
  };

  function snapshot(): JsonObject {
    return { servers: servers.all.map(describeServer) };
  }

  /** Tells the sessions of a view that a list changed, once for many changes. */
  const announced = new Map<View, Set<string>>();
  function announce(view: View, kind: ListKind): void {
    const methods = announced.get(view);
    if (methods) {
      methods.add(changeMethods[kind]);
      return;
    }
    announced.set(view, new Set([changeMethods[kind]]));
    needs.clock.after(changeDelayMs, () => {
      const due = announced.get(view) ?? [];
      announced.delete(view);
      for (const method of due)
        for (const session of sessions.values())
          if (session.view === view && session.protocolVersion !== undefined)
            session.outlet(encodeCall(undefined, method));
    });
  }

  let reported = '';
  catalog.changed(kind => {
    announce('all', kind);
    const collisions = catalog.collisions();
    const seen = JSON.stringify(collisions);
    if (collisions.length > 0 && seen !== reported)
      log.warn({ collisions }, 'servers want the same names: some got others');
    reported = seen;
  });

  function updated(server: Server, notification: Notification): void {
    const span = membersOf(notification.bytes, notification.params)?.get('uri');
    const uri = stringAt(notification.bytes, span);
    if (!span || uri === undefined) return;
    for (const [session, publicUri] of methodNeeds.subscriptions.of(server, uri))
      session.outlet(
        publicUri === uri
          ? notification.bytes
          : splice(notification.bytes, [{ span, text: JSON.stringify(publicUri) }]),
      );
  }

  /**
   * A notification that names no request belongs to the request in flight, where all in flight are of
   * one client. Of several clients it cannot be told whose it is, so that none gets it; with nothing
   * in flight it is about the server itself and goes to all who see it.
   */
  function unrelated(server: Server, notification: Notification): void {
    // The hub has answered what the server asked: there is nothing of its own left to cancel.
    if (notification.method === 'notifications/cancelled') return;
    const isLog = notification.method === 'notifications/message';
    const params = isLog ? valueOf(notification.bytes, notification.params) : undefined;
    const caller = server.running?.upstream.onlyCaller() ?? 'none';
    if (caller === 'several')
      log.debug(
        { server: server.config.name, method: notification.method },
        'several clients have calls in flight: a notification that names none was not passed on',
      );
    else if (caller !== 'none') {
      const owner = sessions.get(caller.owner);
      if (owner && (!isLog || wantsLevel(owner, params))) caller.related(notification.bytes);
    } else {
      for (const session of sessions.values())
        if (session.view === server || (isLog && session.view === 'all'))
          if (!isLog || wantsLevel(session, params)) session.outlet(notification.bytes);
    }
  }

  for (const server of servers.all) {
    server.listed(kind => announce(server, kind));
    server.changed(({ state }) => {
      if (state === 'running') levels.update(server);
    });
    server.notified(notification =>
      notification.method === 'notifications/resources/updated'
        ? updated(server, notification)
        : unrelated(server, notification),
    );
  }

  let answering = 0;
  /** Without `async`, as is all on the way of a call: each such frame costs half a kilobyte of memory. */
  function answer(request: Request, session: SessionState, exchange: Exchange): Promise<Buffer> {
    const failed = (error: unknown) =>
      errorAnswer(rawText(request.bytes, request.id), known(request, error));
    try {
      const answered = methodOf(request, session)(request, session, exchange, methodNeeds);
      if (Buffer.isBuffer(answered)) return Promise.resolve(answered);
      answering++;
      return answered.then(
        bytes => {
          answering--;
          return bytes;
        },
        (error: unknown) => {
          answering--;
          return failed(error);
        },
      );
    } catch (error) {
      return Promise.resolve(failed(error));
    }
  }

  /** What is not a HubError is a bug: its details are for the log, and the client gets the way to them. */
  function known(request: Request, error: unknown): HubError {
    if (error instanceof HubError) return error;
    const id = needs.newId();
    const stack = error instanceof Error ? error.stack : String(error);
    log.error({ id, method: request.method, error: stack }, 'a request failed');
    return new HubError('HUB_INTERNAL', `the hub failed; its log says why under ${id}`, {
      data: { id },
    });
  }

  function cancelled(notification: Notification, session: SessionState): void {
    const params = membersOf(notification.bytes, notification.params);
    const id = params?.get('requestId');
    if (!id) return;
    session.inFlight
      .get(rawText(notification.bytes, id))
      ?.cancel(stringAt(notification.bytes, params?.get('reason')));
  }

  return {
    get sessionCount() {
      return sessions.size;
    },
    get inFlight() {
      return answering;
    },
    collisions: () => catalog.collisions(),
    snapshot,
    open(view, outlet) {
      const state: SessionState = {
        view,
        outlet,
        protocolVersion: undefined,
        logLevel: undefined,
        inFlight: new Map(),
      };
      sessions.set(state, state);
      return {
        get protocolVersion() {
          return state.protocolVersion;
        },
        accept(message: Message, exchange) {
          if (message.kind === 'request') return answer(message, state, exchange);
          if (message.kind === 'notification' && message.method === 'notifications/cancelled')
            cancelled(message, state);
          return Promise.resolve(undefined);
        },
        close(reason) {
          if (!sessions.delete(state)) return;
          for (const relayed of state.inFlight.values()) relayed.cancel(reason);
          methodNeeds.subscriptions.removeAll(state);
          if (state.logLevel !== undefined) methodNeeds.logLevelChanged();
        },
      };
    },
  };
}

function methodOf(request: Request, session: SessionState): Method {
  const method =
    session.view === 'all'
      ? methodsOfAll.get(request.method)
      : (methodsOfOne.get(request.method) ?? pass);
  if (!method)
    throw new RpcError(
      rpcCodes.methodNotFound,
      'HUB_REQUEST_INVALID',
      `the hub knows no method ${JSON.stringify(request.method)}`,
    );
  return method;
}
