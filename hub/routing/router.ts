import { randomBytes } from 'node:crypto';
import { type Clock, type JsonObject, type Log, HubError, createLedger } from '#core';
import type { Naming } from '#config';
import { type Message, type Reply, type Request, encodeCall, errorAnswer, rawText } from '#rpc';
import { type Server, type Servers, describeServer } from '#servers';
import { createAnnouncements } from './announcements.ts';
import { createAsks } from './asks.ts';
import { type Call, cancelCall, needInitialized, readCall } from './call.ts';
import { changeMethods } from './changes.ts';
import { createCollisionLog } from './collision-log.ts';
import { createFromClients } from './from-clients.ts';
import { createFromServers } from './from-servers.ts';
import { createInputs } from './inputs.ts';
import { createLevels } from './levels.ts';
import { createListens } from './listens.ts';
import { methodOf } from './methods/method-of.ts';
import type { Collision } from './names.ts';
import type { MethodNeeds } from './method.ts';
import { createOffering } from './offering.ts';
import { createOwnResource } from './own-resource.ts';
import { createRequestStates } from './request-state.ts';
import type { Exchange, Session, SessionState, View } from './session.ts';
import { type SessionOptions, createSessionState } from './session-state.ts';
import { createStatelessClients } from './stateless-clients.ts';
import { createSubscriptions } from './subscriptions.ts';
import { createTasks } from './tasks.ts';
import { createPages } from './url-elicitation.ts';

/** From clients to servers and back. */
export interface Router {
  /**
   * Opens a session. `outlet` gets what the client is told outside its requests; `isConnected` tells
   * whether the client is there, where its session may outlive its connections. Requests before
   * `initialize` are refused, but for those of the stateless revision.
   */
  open(view: View, outlet: (bytes: Buffer) => void, isConnected?: () => boolean): Session;
  /** Opens one for a single request, which needs no `initialize` before it. Its client is told nothing else. */
  openSessionless(view: View): Session;
  readonly sessionCount: number;
  /** Requests that are being answered, without those that only listen. */
  readonly inFlight: number;
  /** The description of a tool, as a client of the view reads it; undefined where it lists none such. */
  describeTool(view: View, publicName: string): Buffer | undefined;
  /** Ends all that only ends when the hub does: requests to listen, and calls that wait for clients. */
  close(): void;
  collisions(): readonly Collision[];
  snapshot(): JsonObject;
}

export type RouterNeeds = {
  readonly servers: Servers;
  readonly log: Log;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly hubVersion: string;
  readonly newId: () => string;
};

/** Knows every open session, and tells each what concerns it. */
export function createRouter(naming: () => Naming, needs: RouterNeeds): Router {
  const { servers, log, clock } = needs;
  const open = createLedger<SessionState>();
  const sessions = () => open.entries().map(([, session]) => session);
  const { catalog, lists } = createOffering(naming, needs);
  const levels = createLevels(sessions, needs);
  const tasks = createTasks();
  const pages = createPages();
  const asks = createAsks({ clock, tasks, pages });
  const listens = createListens({ tasks });
  const watch = (server: Server) =>
    server.watch({ resources: subscriptions.urisOf(server), tasks: listens.tasksOf(server) });
  const subscriptions = createSubscriptions({
    log,
    publicUriOf: (server, uri) => catalog.publicUriOf(server, uri),
    changed: watch,
  });
  const ownResource = createOwnResource({ clock });
  const inputs = createInputs({
    clock,
    levels,
    states: createRequestStates(randomBytes(32), { clock }),
    newId: needs.newId,
  });
  /** Clients that come back find their session, though not what their servers remembered. */
  const mayEnd = (holder: object) =>
    !sessions().some(session => session === holder && session.isConnected());
  const methodNeeds: MethodNeeds = {
    servers,
    catalog,
    lists,
    subscriptions,
    ownResource,
    listens,
    levels,
    tasks,
    asks,
    inputs,
    pages,
    statelessClients: createStatelessClients({
      instances: servers.instances,
      isWaiting: instance => inputs.isWaiting(instance),
      mayEnd,
    }),
    mayEnd,
    clock,
    log,
    hubVersion: needs.hubVersion,
    watch,
    logLevelChanged() {
      for (const server of servers.all) levels.update(server);
      for (const { instances } of sessions())
        for (const server of instances.values()) levels.update(server);
    },
    snapshot,
  };
  const announce = createAnnouncements({ clock, sessions, listens });
  const notified = createFromClients(methodNeeds);
  const fromServers = createFromServers({ sessions, ...methodNeeds });

  function snapshot(): JsonObject {
    return { servers: servers.all.map(describeServer) };
  }

  const logCollisions = createCollisionLog(log);
  catalog.changed(kind => {
    announce('all', kind);
    logCollisions(catalog.collisions());
  });

  /** Gives a session on the endpoint of all what its own instances offer in place of the others. */
  function personalize(session: SessionState): void {
    if (session.view !== 'all') return;
    session.own?.catalog[Symbol.dispose]();
    session.own = createOffering(naming, needs, session.instances);
  }

  /** Hears what a server says; `session` is that of one which works for no other. */
  function hear(server: Server, session: SessionState | undefined): void {
    server.listed(kind => {
      if (session) {
        if (!session.own) personalize(session);
        session.outlet(encodeCall(undefined, changeMethods[kind]));
      } else announce(server, kind);
    });
    server.changed(({ state }) => {
      ownResource.changed();
      if (state === 'running') {
        levels.update(server);
        subscriptions.renew(server);
      } else {
        asks.sourceGone(server);
        tasks.instanceGone(server);
        pages.sourceGone(server);
      }
    });
    server.notified(notification => fromServers.told(server, notification, session));
    server.asked(asked => fromServers.asked(server, asked, session));
  }

  const heard = new WeakSet<Server>();
  const hearAll = () => {
    for (const server of servers.all) {
      if (!heard.has(server)) hear(server, undefined);
      heard.add(server);
    }
    ownResource.changed();
  };
  hearAll();
  servers.changed(hearAll);
  servers.removed(server => listens.endAll(server));
  servers.instances.hearWith(
    one => subscriptions.isHeard(one) || listens.isHeard(one) || tasks.areAt(one),
  );
  servers.instances.opened(({ server, base, session }) => {
    const state = sessions().find(one => one === session);
    state?.instances.set(base, server);
    hear(server, state);
    if (state?.own) personalize(state);
  });

  let lastSession = 0;
  let answering = 0;
  let isStopping = false;
  /** Without `async`, as is all on the way of a call: each such frame costs half a kilobyte of memory. */
  function answer(request: Request, session: SessionState, exchange: Exchange): Promise<Reply> {
    const failed = (error: unknown) =>
      errorAnswer(rawText(request.bytes, request.id), known(request, error));
    let call: Call | undefined;
    try {
      call = readCall(request, session, exchange);
      needInitialized(call);
      const {
        id,
        session: { inFlight },
      } = call;
      if (inFlight.has(id))
        throw new HubError('HUB_REQUEST_INVALID', `the id ${id} is in use by a request in flight`);
      const answered = methodOf(call)(call, methodNeeds);
      if (!(answered instanceof Promise)) return Promise.resolve(answered);
      inFlight.set(id, call);
      const isCounted = request.method !== 'subscriptions/listen';
      if (isCounted) answering++;
      const begun = call;
      const over = (error: unknown) => {
        if (isCounted) answering--;
        inFlight.delete(id);
        begun.leave?.over(error, begun.wasSent);
      };
      return answered.then(
        reply => {
          over(undefined);
          return reply;
        },
        (error: unknown) => {
          over(error);
          return failed(error);
        },
      );
    } catch (error) {
      call?.leave?.over(error, call.wasSent);
      return Promise.resolve(failed(error));
    }
  }

  /** What is not a HubError is a bug: its details are for the log, and the client gets the way to them. */
  function known(request: Request, error: unknown): HubError {
    if (error instanceof HubError)
      return isStopping && error.code === 'HUB_CALL_CANCELLED' ? stopping(error) : error;
    const id = needs.newId();
    const stack = error instanceof Error ? error.stack : String(error);
    log.error({ id, method: request.method, error: stack }, 'a request failed');
    return new HubError('HUB_INTERNAL', `the hub failed; its log says why under ${id}`, {
      data: { id },
    });
  }

  return {
    get sessionCount() {
      return open.size;
    },
    get inFlight() {
      return answering;
    },
    describeTool: (view, publicName) =>
      view === 'all'
        ? catalog.find('tool', publicName)?.bytes
        : view.listing.tool.find(({ key }) => key === publicName)?.bytes,
    close() {
      isStopping = true;
      listens.endAll();
      inputs.close();
    },
    collisions: () => catalog.collisions(),
    snapshot,
    open: (view, outlet, isConnected = () => true) =>
      openSession({ view, outlet, isConnected, isSessionless: false }),
    openSessionless: view =>
      openSession({ view, outlet() {}, isConnected: () => true, isSessionless: true }),
  };

  function openSession(options: SessionOptions): Session {
    const state = createSessionState(String(++lastSession), options, asks);
    const number = open.add(state);
    let isOver = false;
    return {
      get protocolVersion() {
        return state.protocolVersion;
      },
      accept(message: Message, exchange) {
        if (message.kind === 'request')
          return isOver ? Promise.resolve(refuseLate(message)) : answer(message, state, exchange);
        if (isOver) return Promise.resolve(undefined);
        if (message.kind === 'notification') notified(message, state);
        else asks.answered(state, message);
        return Promise.resolve(undefined);
      },
      close(reason) {
        if (isOver) return;
        isOver = true;
        open.take(number);
        for (const call of state.inFlight.values()) cancelCall(call, reason);
        for (const ask of Array.from(state.asks.values())) ask.giveUp(reason);
        subscriptions.removeAll(state);
        ownResource.unsubscribe(state);
        tasks.removeAll(state);
        pages.removeAll(state);
        state.own?.catalog[Symbol.dispose]();
        servers.instances.release(state);
        if (state.logLevel !== undefined) methodNeeds.logLevelChanged();
      },
    };
  }
}

/** The answer to a request that came after the end of its session. */
const refuseLate = ({ bytes, id }: Request) =>
  errorAnswer(rawText(bytes, id), new HubError('HUB_CALL_CANCELLED', 'the session is over'));

/** What is cancelled because the hub stops is nothing that its client has cancelled. */
const stopping = ({ message, data }: HubError) =>
  new HubError('HUB_SHUTTING_DOWN', message, { data: { ...data, retryable: true } });
