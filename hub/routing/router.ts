import { randomBytes } from 'node:crypto';
import { HubError, createSlotMap } from '#core';
import { type Message, type ReplyBytes, type Request, errorAnswer, rawText } from '#jsonrpc';
import { isStateless } from '#mcp';
import type { Principal } from '#policy';
import type { Server } from '#servers';
import type { ResponseStream } from '#upstream';
import { createAccess } from './access.ts';
import { createProfiles, openAccess } from './access-rules.ts';
import { compose, createAnswering, createRequestBytesStep } from './answering.ts';
import { createAdmissionStep, createBridge, createResumeStep } from './bridge/bridge.ts';
import { createSuspendedCalls } from './bridge/input-required.ts';
import { createRequestStates } from './bridge/request-state.ts';
import { type Call, callTo, readCall } from './call.ts';
import { openSessionOf } from './client-identity.ts';
import { createClientInstances } from './client-instances.ts';
import { announceAccessChanges } from './events/access-changes.ts';
import { createFromClients } from './events/client-notifications.ts';
import { createClientRequests } from './events/client-requests.ts';
import { createHubModels } from './events/hub-models.ts';
import { createHubSampling } from './events/hub-sampling.ts';
import { createLogLevels } from './events/log-levels.ts';
import { createFromServers } from './events/messages.ts';
import { createUrlElicitations } from './events/ownership.ts';
import { createResourceUpdates } from './events/resource-updates.ts';
import { listenToServers } from './events/server-events.ts';
import { createServerLogs } from './events/server-logs.ts';
import { createSubscriptionStreams } from './events/subscription-streams.ts';
import { createSubscriptions } from './events/subscriptions.ts';
import { createFindMode } from './find/find-mode.ts';
import { createPinnedChanges } from './find/pinned-changes.ts';
import { createCollisionLog } from './names.ts';
import { resolveCall } from './resolve.ts';
import { createResumption } from './resume.ts';
import type { OpenOptions, RouterNeeds, RouterOptions } from './router-types.ts';
import {
  type EarlierSession,
  type Endpoint,
  type OpenSession,
  type Session,
  type SessionOptions,
  type SessionState,
  cancelCall,
  createSessionState,
  noteLevel,
} from './session.ts';
import { createConfirmStep } from './steps/confirm.ts';
import { createImproveStep } from './steps/improve.ts';
import { createKeeping } from './steps/keep-results.ts';
import { createKeptImprovements } from './steps/kept-improvements.ts';
import { createLimitStep } from './steps/limits.ts';
import { createShownTools } from './shown-tools.ts';
import { createUnknownToolLog } from './unknown-tools.ts';
import { traced } from './trace.ts';
import { createTasks } from './tasks/tasks.ts';

/** Routes messages from clients to servers and back. */
export type Router = ReturnType<typeof createRouter>;

/** Creates the router, which keeps the open sessions and sends each session the messages that concern it. */
export function createRouter(options: RouterOptions, needs: RouterNeeds) {
  const { naming, hubId, hubVersion, sampling, approvals } = options;
  const { servers, log, clock } = needs;
  const open = createSlotMap<SessionState>();
  const sessions = () => open.entries().map(([, session]) => session);
  const source = needs.access ?? openAccess;
  const clients = createClientInstances(naming, { servers, clock, sessions, tools: source });
  const { catalog } = clients.shared;
  /** Returns the servers of an endpoint, and their instances. */
  const allOf = (endpoint: Endpoint): readonly Server[] =>
    (endpoint === 'all' ? servers.all : [endpoint]).flatMap(server => [
      server,
      ...servers.instances.list(server),
    ]);
  const levels = createLogLevels(sessions, needs);
  const tasks = createTasks();
  const find = options.search && createFindMode(options.search);
  const access = createAccess({ source, clients, servers, tasks, naming, finds: Boolean(find) });
  const urlElicitations = createUrlElicitations();
  const clientRequests = createClientRequests({ clock, tasks, urlElicitations });
  const logs = createServerLogs(needs);
  const hubSampling = createHubSampling(sampling, logs);
  const hubModels = createHubModels(options.models, logs);
  const streams = createSubscriptionStreams({
    tasks,
    baseOf: clients.baseOf,
    mayHearTask: access.mayHearTask,
    tasksChanged: endpoint => allOf(endpoint).forEach(watch),
  });
  const watch = (server: Server) =>
    server.watch({ resources: subscriptions.urisOf(server), tasks: streams.tasksOf(server) });
  const subscriptions = createSubscriptions({
    log,
    publicUriOf: (server, uri) => catalog.publicUriOf(server, uri),
    mayHear: access.mayHear,
    changed: watch,
  });
  const suspendedCalls = createSuspendedCalls({
    clock,
    levels,
    states: createRequestStates(randomBytes(32), { clock }),
    newId: needs.newId,
  });
  const logLevelChanged = () => allOf('all').forEach(levels.update);
  const parts = {
    servers,
    clients,
    access,
    clock,
    log,
    clientRequests,
    hubSampling,
    urlElicitations,
    tasks,
    streams,
    subscriptions,
    suspendedCalls,
    levels,
    logLevelChanged,
  };
  const bridge = createBridge(parts);
  const keeping = createKeeping({ clock, instanceFor: clients.instanceFor });
  const { prompts, limits } = needs;
  const relay = compose(
    [
      {
        concerns: () => prompts?.named !== undefined,
        run: createImproveStep({
          source: prompts,
          catalog,
          kept: approvals && createKeptImprovements(approvals, clock),
        }),
      },
      {
        concerns: ({ confirmed }) => confirmed !== undefined,
        run: createConfirmStep({ approvals, clientRequests, clock, key: randomBytes(32) }),
      },
      { concerns: () => limits?.rules() !== undefined, run: createLimitStep(limits) },
      { concerns: ({ call }) => isStateless(call), run: createResumeStep(suspendedCalls) },
      { concerns: ({ server }) => server?.config.cache !== undefined, run: keeping.step },
      createAdmissionStep(clients.instanceFor),
    ],
    bridge,
  );
  const hub = { id: hubId, version: hubVersion, servers, find };
  const methodNeeds = { ...parts, hub, relay, bridge };
  const notified = createFromClients(parts);

  const logCollisions = createCollisionLog(log);
  const logUnknownTools = createUnknownToolLog(log);
  catalog.changed(() => {
    logCollisions(catalog.collisions());
    logUnknownTools(servers.all);
  });
  // A list changes before its server has the new entry, and an entry can change without its list.
  servers.applied(() => logUnknownTools(servers.all));
  announceAccessChanges({ ...parts, source, sessions });
  listenToServers({
    ...parts,
    sessions,
    pinnedChanges: createPinnedChanges({ access, catalog, baseOf: clients.baseOf }),
    fromServers: createFromServers({
      sessions,
      baseOf: clients.baseOf,
      logs,
      asking: { hub: hubSampling, models: hubModels, clients: [clientRequests, suspendedCalls] },
      updated: createResourceUpdates(parts),
      ...parts,
    }),
    gone(server) {
      clientRequests.sourceGone(server);
      hubSampling.sourceGone(server);
      hubModels.sourceGone(server);
      tasks.instanceGone(server);
      urlElicitations.sourceGone(server);
    },
  });
  servers.instances.hearWith(
    one => subscriptions.isHeard(one) || streams.isHeard(one) || tasks.areAt(one),
  );

  const resumption = createResumption(parts);
  let { lastSession = 0 } = options;
  const answering = createAnswering(
    compose([createRequestBytesStep()], resolved =>
      resolved.answer ? resolved.answer() : relay(resolved),
    ),
    needs,
  );

  const resolve = (call: Call) => resolveCall(call, methodNeeds);

  function answer(
    request: Request,
    session: SessionState,
    responseStream: ResponseStream,
    principal: Principal,
  ): Promise<ReplyBytes | undefined> {
    const arrivedMs = clock.monotonic();
    try {
      const call = readCall(request, session, responseStream, principal, arrivedMs);
      if (call.logLevel !== undefined) noteLevel(session, call.logLevel);
      const { tracer } = needs;
      return answering.answer(access.guard(tracer ? traced(call, tracer) : call, resolve, relay));
    } catch (error) {
      const unread = readCall(request, session, responseStream, principal, arrivedMs, true);
      return Promise.resolve(answering.failed(callTo(undefined, unread), error));
    }
  }

  return {
    get sessionCount(): number {
      return open.size;
    },
    /** Number of requests that are being answered, without open subscription streams. */
    get inFlight(): number {
      return answering.inFlight;
    },
    ...createShownTools(catalog, source, access, servers),
    keptResults: keeping.stats,
    /** Cancels calls of a principal that wait for answers of its client. They outlive their requests. */
    endSuspendedOf(principal: Principal, reason: string): void {
      suspendedCalls.endOf(principal, reason);
    },
    /** Ends the requests that only end with the hub: subscription streams, and calls that wait for clients. */
    close(): void {
      answering.stop();
      streams.endAll();
      suspendedCalls.close();
    },
    collisions: () => catalog.collisions(),
    policy: { rules: access.rules, explain: access.explain },
    profiles: createProfiles(source),
    /** Lists the initialized sessions, newest first. */
    sessions: (): readonly OpenSession[] =>
      sessions()
        .filter(({ client }) => client !== undefined)
        .map(openSessionOf)
        .toReversed(),
    /**
     * Opens a session. `send` sends the client messages outside its requests. Requests before `initialize` are
     * refused, except those of the stateless revision.
     */
    open(
      endpoint: Endpoint,
      principal: Principal,
      send: (bytes: Buffer) => void,
      { earlier, ...options }: OpenOptions = {},
    ): Session {
      const openedAt = earlier?.openedAt ?? clock.now();
      const state = { ...options, endpoint, principal, send, isSessionless: false, openedAt };
      return openSession(state, earlier);
    },
    /** Opens a session for a single request, without `initialize`. Its client gets no other messages. */
    openSessionless: (endpoint: Endpoint, principal: Principal): Session =>
      openSession({ endpoint, principal, send() {}, isSessionless: true }),
  };

  function openSession(options: SessionOptions, earlier?: EarlierSession): Session {
    const state = createSessionState(String(++lastSession), options, clientRequests);
    const number = open.add(state);
    if (earlier) resumption.restore(state, earlier);
    return {
      principal: options.principal,
      get protocolVersion() {
        return state.protocolVersion;
      },
      accept(message: Message, responseStream, principal) {
        if (message.kind === 'request')
          return state.isOver
            ? Promise.resolve(refuseLate(message))
            : answer(message, state, responseStream, principal);
        if (state.isOver) return Promise.resolve(undefined);
        if (message.kind === 'notification') notified(message, state);
        else clientRequests.answered(state, message);
        return Promise.resolve(undefined);
      },
      save: () => (state.isOver ? undefined : resumption.save(state)),
      close(reason) {
        if (state.isOver) return;
        state.isOver = true;
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

/** Answers a request that came after the end of its session. */
const refuseLate = ({ bytes, id }: Request) =>
  errorAnswer(rawText(bytes, id), new HubError('HUB_CALL_CANCELLED', 'the session is over'));
