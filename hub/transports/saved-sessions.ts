import { isDeepStrictEqual } from 'node:util';
import { type Clock, createTicker, isObject, setBounded } from '#core';
import { isLogLevel } from '#mcp';
import type { Principal } from '#policy';
import type { EarlierSession, Endpoint, SessionSettings } from '#routing';
import type { Journal } from '#store';
import type { HttpSession } from './http-session.ts';
import { type SealedSession, type SessionIds, nonceOf } from './session-id.ts';

export type SavedSessions = ReturnType<typeof createSavedSessions>;

type SavedSessionsOptions = {
  /** Time in ms after which an unused session cannot be resumed. */
  readonly idleMs: number;
  readonly maxSessions: number;
};

type SavedSessionsNeeds = {
  readonly clock: Clock;
  readonly ids: SessionIds;
  /** Resolves when the servers of this run have listed their items. */
  readonly listed: Promise<void>;
  /** Creates the journal that stores the sessions. `snapshot` returns the records of all current sessions. */
  readonly openJournal: (
    snapshot: () => readonly object[],
  ) => Pick<Journal, 'open' | 'append' | 'close'>;
};

type SessionRecord = {
  /** The nonce of the session's id. */
  readonly key: string;
  /** The server of the session's endpoint, or its profile after "@"; undefined for all servers. */
  readonly server: string | undefined;
  /** Time of the last use, in milliseconds since the epoch. */
  readonly usedAt: number;
  readonly settings: SessionSettings;
};

/** Time in ms for which changes are collected before they are written. */
const saveDelayMs = 50;
/** Maximum time in ms between the last use of a session and the time in its record. */
const staleMs = 5 * 60_000;
/**
 * Maximum length of a session's settings as JSON text, in characters. A session with more settings cannot be resumed.
 */
const maxSettingsLength = 16 * 1024;

/**
 * Saves the sessions of streamable HTTP, so that the next run of the hub can resume them. The id of a session contains
 * its constant data; a journal contains a record for each open session: its last use and the settings of its client.
 * Records are written shortly after an answer, never before it. A crash loses the newest records: a session is unknown
 * afterwards, or has slightly older settings.
 */
export function createSavedSessions(
  { idleMs, maxSessions }: SavedSessionsOptions,
  { clock, ids, listed, openJournal }: SavedSessionsNeeds,
) {
  const records = new Map<string, SessionRecord>();
  const isCurrent = ({ usedAt }: SessionRecord) => clock.now() - usedAt <= idleMs;
  const journal = openJournal(() => [...records.values()].filter(isCurrent));
  /** Saved sessions of this run, with the keys of their records. */
  const tracked = new Map<HttpSession, string>();
  const touched = new Set<HttpSession>();
  let isOver = false;

  /**
   * Returns the server or the profile of an endpoint, marked so that they cannot be confused. Undefined for all
   * servers.
   */
  const placeOf = (endpoint: Endpoint, { profile }: Principal) => {
    if (endpoint !== 'all') return endpoint.config.name;
    return profile === undefined ? undefined : `@${profile}`;
  };

  const usedAtOf = ({ active, usedAt }: HttpSession) =>
    Math.round(clock.now() - (active > 0 ? 0 : clock.monotonic() - usedAt));

  const put = (record: SessionRecord) => setBounded(records, record.key, record, 2 * maxSessions);

  function remove(key: string): Promise<void> | undefined {
    if (!records.delete(key)) return undefined;
    return journal.append({ key, ended: true }).then(() => undefined);
  }

  /** Writes the record of a session, unless its settings are the same and `usedAt` is at most `maxStaleMs` old. */
  function save(http: HttpSession, maxStaleMs: number): void {
    const key = tracked.get(http);
    if (key === undefined) return;
    const settings = http.session.save();
    const length = settings?.subscriptions.length ? JSON.stringify(settings).length : 0;
    if (!settings || length > maxSettingsLength) return void remove(key);
    const known = records.get(key);
    const usedAt = usedAtOf(http);
    if (known && usedAt - known.usedAt <= maxStaleMs && isDeepStrictEqual(known.settings, settings))
      return;
    const record = {
      key,
      server: placeOf(http.endpoint, http.session.principal),
      usedAt,
      settings,
    };
    put(record);
    void journal.append(record);
  }

  const saving = createTicker(clock, saveDelayMs, () => {
    for (const http of touched) save(http, staleMs);
    touched.clear();
    return false;
  });

  function touch(http: HttpSession): void {
    if (isOver || !tracked.has(http)) return;
    touched.add(http);
    saving.start();
  }

  return {
    listed,
    /** Encrypts the data of a session into its id; undefined if the session cannot be resumed. */
    seal: (endpoint: Endpoint, principal: Principal, session: SealedSession) =>
      ids.seal({ server: placeOf(endpoint, principal), principal }, session),
    /** Finds a session of an earlier run that has not ended, for the principal that opened it. */
    find(id: string, endpoint: Endpoint, principal: Principal): EarlierSession | undefined {
      const record = records.get(nonceOf(id));
      if (!record || !isCurrent(record)) return undefined;
      // Each session has an instance of its own at this endpoint, which ended with the earlier run.
      if (endpoint !== 'all' && endpoint.config.instance === 'session') return undefined;
      const sealed = ids.open(id, { server: placeOf(endpoint, principal), principal });
      return sealed && { ...sealed, settings: record.settings };
    },
    /** Starts to save the session. Its id must come from `seal`. */
    track: (http: HttpSession) => void tracked.set(http, nonceOf(http.id)),
    /** Saves the session soon, if its settings have changed or it can no longer be resumed. */
    touch,
    /** Saves sessions soon whose records have an outdated time of use. */
    refresh(): void {
      for (const [http, key] of tracked) {
        const record = records.get(key);
        if (record && usedAtOf(http) - record.usedAt > staleMs) touch(http);
      }
    },
    /** Deletes the record of a session that ended. Resolves when no later run can resume it. */
    forget(http: HttpSession): Promise<void> | undefined {
      const key = isOver ? undefined : tracked.get(http);
      tracked.delete(http);
      touched.delete(http);
      return key === undefined ? undefined : remove(key);
    },
    /** Deletes the records of sessions of a server that no client has resumed in this run. */
    forgetServer(server: string): void {
      for (const [key, record] of records) if (record.server === server) void remove(key);
    },
    /** Saves all sessions for the next run. Later changes are not saved. */
    saveAll(): void {
      for (const http of tracked.keys()) save(http, 0);
      isOver = true;
      saving[Symbol.dispose]();
    },
    async start(_signal: AbortSignal): Promise<void> {
      for (const value of await journal.open()) {
        if (!isObject(value) || typeof value['key'] !== 'string') continue;
        const record = parseRecord(value['key'], value);
        if (record) put(record);
        else records.delete(value['key']);
      }
      for (const [key, record] of records) if (!isCurrent(record)) records.delete(key);
    },
    stop: () => journal.close(),
  };
}

/** Parses a line of the journal; undefined for the end of a session and for an invalid record. */
function parseRecord(
  key: string,
  { server, usedAt, settings }: Readonly<Record<string, unknown>>,
): SessionRecord | undefined {
  if (typeof usedAt !== 'number' || !isObject(settings)) return undefined;
  const { logLevel, subscriptions } = settings;
  return {
    key,
    server: typeof server === 'string' ? server : undefined,
    usedAt,
    settings: {
      logLevel: isLogLevel(logLevel) ? logLevel : undefined,
      subscriptions: Array.isArray(subscriptions) ? subscriptions.filter(isSubscription) : [],
    },
  };
}

const isSubscription = (value: unknown): value is SessionSettings['subscriptions'][number] =>
  isObject(value) &&
  [value['server'], value['uri'], value['publicUri']].every(member => typeof member === 'string');
