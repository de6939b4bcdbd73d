import { encodeCall } from '#jsonrpc';
import { type Servers, listKinds, listMethods } from '#servers';
import type { ClientInstances } from './client-instances.ts';
import type { UrlElicitations } from './events/ownership.ts';
import { changeMethodOf } from './events/subscription-streams.ts';
import type { Subscriptions } from './events/subscriptions.ts';
import type { EarlierSession, Endpoint, SessionSettings, SessionState } from './session.ts';
import type { Tasks } from './tasks/tasks.ts';

const noSettings: SessionSettings = { logLevel: undefined, subscriptions: [] };

/** Saves sessions for the next run of the hub, and restores them. */
export function createResumption(needs: {
  readonly servers: Pick<Servers, 'all'>;
  readonly subscriptions: Pick<Subscriptions, 'add' | 'listOf'>;
  readonly tasks: Pick<Tasks, 'has'>;
  readonly urlElicitations: Pick<UrlElicitations, 'of'>;
  readonly clients: Pick<ClientInstances, 'baseOf' | 'prepareOlder'>;
  readonly logLevelChanged: () => void;
}) {
  const { servers, clients, subscriptions, tasks, urlElicitations } = needs;
  return {
    /**
     * Returns the data that the next run needs; undefined if the session cannot be resumed: it is not initialized, or
     * has an instance, a task, an open request or an open page at a server that ends with this run.
     */
    save(session: SessionState): SessionSettings | undefined {
      if (
        session.protocolVersion === undefined ||
        session.clientRequests.size > 0 ||
        session.instances.size > 0 ||
        tasks.has(session) ||
        urlElicitations.of(session).length > 0
      )
        return undefined;
      const topics = subscriptions.listOf(session);
      // The next run has another instance for older clients. A removed server may exist again by then.
      if (topics.some(({ server }) => clients.baseOf(server) !== server)) return undefined;
      const { logLevel } = session;
      if (logLevel === undefined && topics.length === 0) return noSettings;
      const saved = topics.map(({ server, ...topic }) => ({
        server: server.config.name,
        ...topic,
      }));
      return { logLevel, subscriptions: saved };
    },
    /** Restores a session, and notifies its client that all lists may have changed. */
    restore(session: SessionState, { client, protocolVersion, settings }: EarlierSession): void {
      const { endpoint } = session;
      session.client = client;
      session.protocolVersion = protocolVersion;
      session.logLevel = settings.logLevel;
      if (settings.logLevel !== undefined) needs.logLevelChanged();
      const seen = endpoint === 'all' ? servers.all : [endpoint];
      for (const { server: name, uri, publicUri } of settings.subscriptions) {
        const server = seen.find(({ config }) => config.name === name);
        if (server) subscriptions.add(server, uri, session, publicUri, false);
      }
      if (endpoint === 'all') clients.prepareOlder();
      for (const method of changeMethodsOf(endpoint)) session.send(encodeCall(undefined, method));
    },
  };
}

/** Returns the list changed notifications that apply to the endpoint. */
function changeMethodsOf(endpoint: Endpoint): ReadonlySet<string> {
  const running = endpoint === 'all' ? undefined : endpoint.running;
  const kinds = listKinds.filter(
    kind => !running || listMethods[kind].capability in running.serverInfo.capabilities,
  );
  return new Set(kinds.map(kind => changeMethodOf(kind)));
}
