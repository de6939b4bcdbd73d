import type { ServerConfig } from '#config';
import { type Clock, type Event, type Log, HubError, createEmitter, messageOf } from '#core';
import { goneError } from '../failures.ts';
import type { Running, Server, ServerStatus } from '../server-types.ts';
import { createStderrRing, lastWordsOf } from './stderr-ring.ts';
import { closedFor, refusalOf } from './refusal.ts';
import type { Failure } from './restart-policy.ts';
import type { Facts } from './state.ts';
import { createStatusLog } from './status-log.ts';

/** What is known about one server: its config, its status, its stderr and its last error. */
export interface ServerRecord {
  /** The config in use. */
  config: ServerConfig;
  readonly audience: Facts['audience'];
  readonly status: ServerStatus;
  readonly changed: Event<ServerStatus>;
  readonly lastError: Server['lastError'];
  readonly closed: HubError | undefined;
  /** An instance has run since the last launch. */
  hasRun: boolean;
  readonly stderr: Pick<ReturnType<typeof createStderrRing>, 'add' | 'text' | 'clear'>;
  publish(status: ServerStatus, running: Running | undefined): void;
  recordFailure(error: unknown): void;
  failureOf(error: unknown, isClean?: boolean): Failure;
  /** The error of a server that ended by itself, with the end of its stderr. */
  gone(how: string, cause: unknown): HubError;
  /** Why the server accepts no call now; undefined if it runs or may be started. */
  refusal(): HubError | undefined;
  close(why: 'stopping' | 'removed'): void;
}

export type RecordNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly redact?: (text: string) => string;
};

export function createServerRecord(
  config: ServerConfig,
  audience: Facts['audience'],
  { clock, log, redact = text => text }: RecordNeeds,
): ServerRecord {
  const { name } = config;
  const stderr = createStderrRing(clock, redact);
  const logStatus = createStatusLog(log, { clock, isOwn: audience === 'session' });
  const changed = createEmitter<ServerStatus>();
  let status: ServerStatus = { state: 'stopped', byHand: false };
  let lastError: Server['lastError'];
  /** The error for calls that wait for an instance of a session or an era. */
  let failure: HubError | undefined;
  let closed: HubError | undefined;

  const record: ServerRecord = {
    config,
    audience,
    changed: changed.event,
    hasRun: false,
    stderr,
    get status() {
      return status;
    },
    get lastError() {
      return lastError;
    },
    get closed() {
      return closed;
    },
    publish(changedStatus, running) {
      status = changedStatus;
      logStatus(status, running ? { ...running.instance.about, era: running.serverInfo.era } : {});
      changed.fire(status);
    },
    recordFailure(error) {
      const message = redact(messageOf(error));
      lastError = { at: clock.now(), message, stderr: stderr.text() };
      if (audience !== 'all')
        failure = error instanceof HubError ? error : record.gone(message, error);
    },
    failureOf: (error, isClean = false) => ({ error, why: redact(messageOf(error)), isClean }),
    gone: (how, cause) => goneError(name, how, lastWordsOf(stderr, record.hasRun), cause),
    refusal: () =>
      closed ??
      (audience !== 'all' && status.state === 'failed'
        ? failure
        : refusalOf(record.config, status, stderr.text(), clock.monotonic())),
    close(why) {
      closed ??= closedFor(name, why);
    },
  };
  return record;
}
