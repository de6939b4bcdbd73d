import { join } from 'node:path';
import type { NamedClients } from '#access';
import type { Settings } from '#config';
import type { Event } from '#core';
import { maxMessageBytes } from '#jsonrpc';
import { type Principal, openCaller } from '#policy';
import type { Endpoint, Router } from '#routing';
import type { Servers } from '#servers';
import { type Backlog, type DataDir, createJournal } from '#store';
import {
  createByteBudget,
  createConnections,
  createSavedSessions,
  createSessionIds,
  createSse,
  createStreamable,
  createWebSockets,
} from '#transports';
import { type CallTokenNeeds, createCallToken } from './call-token.ts';
import { collectGarbage, createRelief } from './idle-gc.ts';
import type { System } from './system.ts';

type Needs = Omit<CallTokenNeeds, 'log'> & {
  readonly settings: Pick<Settings, 'token' | 'limits'>;
  readonly dataDir: Pick<DataDir, 'path' | 'secret' | 'hubId' | 'ownerKey'>;
  readonly source: { readonly changed: Event<unknown> };
  readonly clients: Pick<NamedClients, 'digestOf' | 'ended' | 'regranted'>;
  readonly router: Router;
  readonly servers: Servers;
  readonly saving: {
    readonly backlog: Backlog;
    /** Resolves when the first servers are running or have failed. Never rejects. */
    readonly listed: Promise<void>;
  };
  readonly system: Omit<System, 'random'>;
};

/** Grace period in ms for calls in flight when the hub stops. */
const drainMs = 5_000;
const idleMs = 30 * 60_000;
const maxSessions = 10_000;
/** Maximum number of WebSocket connections and SSE streams. */
const maxStreams = 1_000;
/** Maximum number of WebSocket connections and SSE streams of one principal. */
const maxStreamsPerPrincipal = 500;
const sessionsFile = 'sessions.jsonl';
const maxSessionsBytes = 8 * 2 ** 20;

/**
 * Creates the transports of clients, with the memory limits that they share. `listens`: the hub listens for clients.
 */
export async function wireTransports({ listens }: { readonly listens: boolean }, needs: Needs) {
  const { settings, dataDir, servers, router, source } = needs;
  const { clock, log, newId } = needs.system;
  const { limits } = settings;
  const relieved = createRelief({ collect: collectGarbage, clock, log });
  const budget = (what: string, maxBytes: number) =>
    createByteBudget({ what, maxBytes }, { clock, log, relieved });
  const unfinished = budget('requests that are not complete', limits.maxUnfinishedBytes);
  const unread = budget('answers that are not read', limits.maxUnreadBytes);
  const ids = createSessionIds({
    secret: dataDir.secret,
    hubId: dataDir.hubId,
    credentialOf({ kind, name }) {
      if (kind === 'client') return needs.clients.digestOf(name);
      if (name === 'owner') return dataDir.ownerKey;
      return name === 'token' ? (settings.token ?? callToken?.current()?.token) : undefined;
    },
  });
  const saved = createSavedSessions(
    { idleMs, maxSessions },
    {
      clock,
      ids,
      listed: needs.saving.listed,
      openJournal: snapshot =>
        createJournal(
          { file: join(dataDir.path, sessionsFile), maxBytes: maxSessionsBytes, snapshot },
          { log, backlog: needs.saving.backlog },
        ),
    },
  );
  const streamable = createStreamable(
    { idleMs, maxSessions, maxSessionsPerClient: limits.maxSessionsPerClient },
    { router, clock, log, newId, saved },
  );
  const connections = createConnections(
    { maxConnections: maxStreams, maxPerPrincipal: maxStreamsPerPrincipal },
    { router, clock, log, unread },
  );
  const all = [streamable, connections];
  const end = (endpoint: Endpoint, reason: string) => {
    for (const clients of all) clients.end(endpoint, reason);
  };
  const endOf = (principal: Principal, reason: string) => {
    for (const clients of all) clients.endOf(principal, reason);
  };
  needs.clients.ended(({ principal, reason }) => endOf(principal, reason));
  needs.clients.regranted(principal => connections.regrant(principal));
  servers.removed(server => end(server, 'its server was removed'));
  const callToken =
    settings.token === undefined && listens
      ? createCallToken({ ...needs, log }, reason => {
          for (const endpoint of ['all', ...servers.all] as const) end(endpoint, reason);
          // The loop above ends sessions and connections. Requests without a session end by their principal.
          endOf(openCaller, reason);
        })
      : undefined;
  await callToken?.refresh();
  source.changed(() => void callToken?.refresh());
  return {
    unfinished,
    unread,
    saved,
    streamable,
    connections,
    sse: createSse({ connections, newId }),
    webSockets: createWebSockets({ maxMessageBytes }, { connections, clock, log, unfinished }),
    callToken,
    /** Lets calls in flight finish when the hub stops. */
    async drain(): Promise<void> {
      const drained = Promise.all(all.map(clients => clients.drain(drainMs)));
      router.close();
      await drained;
    },
  };
}
