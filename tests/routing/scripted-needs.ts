import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createFixtureServers } from '#helpers/hub';
import { encodeResult } from '#jsonrpc';
import type { Server, Servers } from '#servers';
import { type ResolvedCall, hubReply } from '../../hub/routing/call.ts';
import { createAccess } from '../../hub/routing/access.ts';
import { openAccess } from '../../hub/routing/access-rules.ts';
import { createClientInstances } from '../../hub/routing/client-instances.ts';
import { createSubscriptionStreams } from '../../hub/routing/events/subscription-streams.ts';
import { createSubscriptions } from '../../hub/routing/events/subscriptions.ts';
import type { MethodNeeds } from '../../hub/routing/methods/method.ts';
import type { SessionState } from '../../hub/routing/session.ts';
import { createTasks } from '../../hub/routing/tasks/tasks.ts';

/** Creates the dependencies of the methods, over scripted servers. Calls end in `relayed` instead of at a server. */
export function createScriptedNeeds(scripted: readonly { readonly server: Server }[]) {
  const clock = createManualClock();
  const sessions: SessionState[] = [];
  const relayed: ResolvedCall[] = [];
  const levels = { changes: 0 };
  const servers: Servers = {
    ...createFixtureServers([], { log: silent, clock }),
    all: scripted.map(({ server }) => server),
  };
  const naming = () => ({ separator: '_', maxLength: 46 }) as const;
  const clients = createClientInstances(naming, {
    servers,
    clock,
    sessions: () => sessions,
  });
  const tasks = createTasks();
  const subscriptions = createSubscriptions({
    log: silent,
    publicUriOf: (server, uri) => clients.shared.catalog.publicUriOf(server, uri),
    changed() {},
  });
  const streams = createSubscriptionStreams({
    tasks,
    baseOf: clients.baseOf,
    tasksChanged() {},
  });
  const relay = (resolved: ResolvedCall) => {
    relayed.push(resolved);
    return hubReply(encodeResult(resolved.call.id, '"relayed"'));
  };
  const needs: MethodNeeds = {
    hub: { version: '0', servers },
    clients,
    access: createAccess({ source: openAccess, clients, servers, tasks, naming }),
    subscriptions,
    streams,
    tasks,
    log: silent,
    logLevelChanged: () => void levels.changes++,
    relay,
    bridge: relay,
  };
  return { ...needs, servers, needs, clock, sessions, relayed, levels };
}
