import { randomBytes } from 'node:crypto';
import type { Naming } from '#config';
import { type Clock, HubError, type Log, createSlotMap } from '#core';
import {
  type Message,
  type ReplyBytes,
  type Request,
  encodeCall,
  errorAnswer,
  rawText,
} from '#jsonrpc';
import type { Principal } from '#policy';
import type { Server, Servers } from '#servers';
import type { Tracer } from '#telemetry';
import type { ResponseStream } from '#upstream';
import { type Observer, compose, createAnswering, named } from './answering.ts';
import { createAdmissionStep, createBridge, createResumeStep } from './bridge/bridge.ts';
import { createSuspendedCalls } from './bridge/input-required.ts';
import { createRequestStates } from './bridge/request-state.ts';
import { ownCall, readCall, unreadCall } from './call.ts';
import { createClientInstances } from './client-instances.ts';
import { createCollisionLog } from './collision-log.ts';
import { createClientRequests } from './events/client-requests.ts';
import { createLogLevels } from './events/log-levels.ts';
import { createFromClients, createFromServers } from './events/messages.ts';
import {
  changeMethods,
  createAnnouncements,
  createSubscriptionStreams,
} from './events/subscription-streams.ts';
import { createSubscriptions } from './events/subscriptions.ts';
import { createUrlElicitations } from './events/url-elicitations.ts';
import type { Collision } from './names.ts';
import { resolveCall } from './resolve.ts';
import { createResumption } from './resume.ts';
import {
  type EarlierSession,
  type Endpoint,
  type InstanceHolder,
  type OpenSession,
  type Over,
  type Session,
  type SessionOptions,
  type SessionState,
  cancelCall,
  createSessionState,
} from './session.ts';
import { type PromptSource, createImproveStep } from './steps/improve.ts';
import { type Permits, createPolicyStep } from './steps/policy.ts';
import { createTasks } from './tasks/tasks.ts';

/** Routes messages from clients to servers and back. */
export interface Router {
  /**
   * Opens a session of a principal. `send` gets the messages to the client outside its requests. Requests before
   * `initialize` are refused, except those of the stateless revision.
   */
  open(
    endpoint: Endpoint,
    principal: Principal,
    send: (bytes: Buffer) => void,
    options?: OpenOptions,
  ): Session;
  /** Opens a session for a single request, which needs no `initialize`. Its client gets no other messages. */
  openSessionless(endpoint: Endpoint, principal: Principal): Session;
  readonly sessionCount: number;
  /** The initialized sessions, newest first. */
  sessions(): readonly OpenSession[];
  /** Requests that are being answered, without open subscription streams. */
  readonly inFlight: number;
  /** The description of a tool, as a client of the endpoint sees it; undefined if the endpoint does not list the tool. */
  describeTool(endpoint: Endpoint, publicName: string): Buffer | undefined;
  /** Ends the requests that only end with the hub: subscription streams, and calls that wait for clients. */
  close(): void;
  collisions(): readonly Collision[];
}

export type OpenOptions = {
  /** Returns true if the client is connected, for a session that may outlive its connections. */
  readonly isConnected?: () => boolean;
  readonly over?: Over | undefined;
  /** Resumes a session of an earlier run of the hub. */
  readonly earlier?: EarlierSession | undefined;
  /** Called when the client gets a request, and when that request ends. */
  readonly clientRequestsChanged?: () => void;
};

export type RouterNeeds = {
  readonly servers: Servers;
  readonly log: Log;
  readonly clock: Pick<Clock, 'after' | 'monotonic' | 'now'>;
  readonly hubVersion: string;
  readonly newId: () => string;
  /** Absent: prompts are not improved. */
  readonly prompts?: PromptSource;
  /** Decides which items principals may list and call. Absent: all items. */
  readonly permits?: Permits;
  /** Called for each answered request. */
  readonly observer?: Observer;
  /** Gives each request its place in a trace. Absent: tracing is off. */
  readonly tracer?: Tracer;
};

/** Creates the router, which holds every open session and sends each the messages that concern it. */
export function createRouter(naming: () => Naming, needs: RouterNeeds): Router {
  const { servers, log, clock } = needs;
  const open = createSlotMap<SessionState>();
  const sessions = () => open.entries().map(([, session]) => session);
  const clients = createClientInstances(naming, { servers, clock, sessions });
  const { catalog } = clients.shared;
  const levels = createLogLevels(sessions, needs);
  const tasks = createTasks();
  const urlElicitations = createUrlElicitations();
  const clientRequests = createClientRequests({ clock, tasks, urlElicitations });
  const streams = createSubscriptionStreams({
    tasks,
    baseOf: clients.baseOf,
    tasksChanged(endpoint) {
      for (const server of endpoint === 'all' ? servers.all : [endpoint]) forEach(server, watch);
    },
  });
  const watch = (server: Server) =>
    server.watch({ resources: subscriptions.urisOf(server), tasks: streams.tasksOf(server) });
  const subscriptions = createSubscriptions({
    log,
    publicUriOf: (server, uri) => catalog.publicUriOf(server, uri),
    changed: watch,
  });
  const suspendedCalls = createSuspendedCalls({
    clock,
    levels,
    states: createRequestStates(randomBytes(32), { clock }),
    newId: needs.newId,
  });
  const logLevelChanged = () => {
    for (const server of servers.all) forEach(server, levels.update);
  };
  const parts = {
    servers,
    clients,
    clock,
    log,
    clientRequests,
    urlElicitations,
    tasks,
    streams,
    subscriptions,
    suspendedCalls,
    levels,
    logLevelChanged,
  };
  const bridge = createBridge(parts);
  const relay = compose(
    [
      createImproveStep({ source: needs.prompts, catalog }),
      createResumeStep(suspendedCalls),
      createAdmissionStep(clients.instanceFor),
    ],
    bridge,
  );
  const methodNeeds = { ...parts, hubVersion: needs.hubVersion, relay, bridge };
  const announce = createAnnouncements({ clock, sessions, streams, ...clients });
  const notified = createFromClients(parts);
  const fromServers = createFromServers({ sessions, baseOf: clients.baseOf, ...parts });

  const logCollisions = createCollisionLog(log);
  catalog.changed(kind => {
    announce('all', kind);
    logCollisions(catalog.collisions());
  });

  /** Calls `work` for a server and each of its instances. */
  function forEach(server: Server, work: (one: Server) => void): void {
    for (const one of [server, ...servers.instances.list(server)]) work(one);
  }

  /**
   * Handles the events of a server. If an instance serves only one client, `holder` is that client, and `session` is
   * the client's session, if it has one.
   */
  function hear(server: Server, session?: SessionState, holder?: InstanceHolder): void {
    server.listed(kind => {
      if (holder && (!session || session.endpoint === 'all')) clients.differs(holder);
      if (session) session.send(encodeCall(undefined, changeMethods[kind]));
      else announce(server, kind);
    });
    server.changed(({ state }) => {
      if (state === 'running') {
        levels.update(server);
        subscriptions.renew(server);
      } else {
        clientRequests.sourceGone(server);
        tasks.instanceGone(server);
        urlElicitations.sourceGone(server);
      }
    });
    server.notified(notification => fromServers.notification(server, notification, session));
    server.serverRequest(serverRequest =>
      fromServers.serverRequest(server, serverRequest, session),
    );
  }

  const heard = new WeakSet<Server>();
  const hearAll = () => {
    for (const server of servers.all) {
      if (!heard.has(server)) hear(server);
      heard.add(server);
    }
  };
  hearAll();
  servers.changed(hearAll);
  servers.removed(server => {
    streams.endAll(server);
    clients.serverRemoved(server);
  });
  servers.instances.hearWith(
    one => subscriptions.isHeard(one) || streams.isHeard(one) || tasks.areAt(one),
  );
  servers.instances.opened(({ server, base, session }) => {
    const holder = clients.opened(base, server, session);
    hear(
      server,
      sessions().find(one => one === holder),
      holder,
    );
  });

  const resumption = createResumption(parts);
  let lastSession = 0;
  const answering = createAnswering(
    compose([createPolicyStep(needs.permits, catalog)], resolved =>
      resolved.answer ? resolved.answer(resolved.call) : relay(resolved),
    ),
    needs,
  );

  function answer(
    request: Request,
    session: SessionState,
    responseStream: ResponseStream,
    principal: Principal,
  ): Promise<ReplyBytes> {
    const arrivedMs = clock.monotonic();
    try {
      const call = readCall(request, session, responseStream, principal, arrivedMs);
      if (call.logLevel !== undefined) session.requestLevel = call.logLevel;
      return answering.answer(resolveCall(call, methodNeeds));
    } catch (error) {
      const unread = unreadCall(request, session, responseStream, principal, arrivedMs);
      return Promise.resolve(answering.refuse(ownCall(unread, unanswered), error));
    }
  }

  return {
    get sessionCount() {
      return open.size;
    },
    get inFlight() {
      return answering.inFlight;
    },
    describeTool: (endpoint, publicName) =>
      endpoint === 'all'
        ? catalog.find('tool', publicName)?.bytes
        : endpoint.listing.tool.find(({ key }) => key === publicName)?.bytes,
    close() {
      answering.stop();
      streams.endAll();
      suspendedCalls.close();
    },
    collisions: () => catalog.collisions(),
    sessions: () =>
      sessions()
        .filter(({ client }) => client !== undefined)
        .map(openSessionOf)
        .toReversed(),
    open: (endpoint, principal, send, { over = 'http', earlier, ...options } = {}) =>
      openSession(
        {
          isConnected: () => true,
          ...options,
          over,
          endpoint,
          principal,
          send,
          isSessionless: false,
          openedAt: earlier?.openedAt ?? clock.now(),
        },
        earlier,
      ),
    openSessionless: (endpoint, principal) =>
      openSession({ endpoint, principal, send() {}, isConnected: () => true, isSessionless: true }),
  };

  function openSession(options: SessionOptions, earlier?: EarlierSession): Session {
    const state = createSessionState(String(++lastSession), options, clientRequests);
    const number = open.add(state);
    if (earlier) resumption.restore(state, earlier);
    let isOver = false;
    return {
      principal: options.principal,
      get protocolVersion() {
        return state.protocolVersion;
      },
      accept(message: Message, responseStream, principal) {
        if (message.kind === 'request')
          return isOver
            ? Promise.resolve(refuseLate(message))
            : answer(message, state, responseStream, principal);
        if (isOver) return Promise.resolve(undefined);
        if (message.kind === 'notification') notified(message, state);
        else clientRequests.answered(state, message);
        return Promise.resolve(undefined);
      },
      save: () => (isOver ? undefined : resumption.save(state)),
      close(reason) {
        if (isOver) return;
        isOver = true;
        open.take(number);
        for (const call of state.inFlight.values()) cancelCall(call, reason);
        for (const request of Array.from(state.clientRequests.values())) request.giveUp(reason);
        subscriptions.removeAll(state);
        tasks.removeAll(state);
        urlElicitations.removeAll(state);
        state.own?.catalog[Symbol.dispose]();
        servers.instances.release(state);
        if (state.logLevel !== undefined) logLevelChanged();
      },
    };
  }
}

/** The public description of a session. */
const openSessionOf = ({ key, client, over, endpoint, ...state }: SessionState): OpenSession => ({
  id: key,
  client: (client && named(client.clientInfo)) || undefined,
  over,
  server: endpoint === 'all' ? undefined : endpoint.config.name,
  protocolVersion: state.protocolVersion,
  openedAt: state.openedAt,
  inFlight: state.inFlight.size,
});

const unanswered = () => {
  throw new TypeError('a request that cannot be read has no other answer');
};

/** The answer to a request that came after the end of its session. */
const refuseLate = ({ bytes, id }: Request) =>
  errorAnswer(rawText(bytes, id), new HubError('HUB_CALL_CANCELLED', 'the session is over'));
